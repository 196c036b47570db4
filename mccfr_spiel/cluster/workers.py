"""A worker of a cluster: a process's tree, its tables, and a turn of its work."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mccfr_spiel.algorithms import OwnRule
from mccfr_spiel.solving import files
from mccfr_spiel.solving.splitting import Place, Segment, WalkLog
from mccfr_spiel.solving.state import SolverState
from mccfr_spiel.storage.checkpoint import Contents
from mccfr_spiel.tree.cache import shared_tree
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import saved_game

LARGE_TREE = 1_000_000
"""The nodes from which on the workers of one machine share a tree in its cache."""

Prepare = Callable[[], object]
"""What a worker calls first, such as an import that registers a game."""


State = dict[str, np.ndarray]
"""What `SolverState.saved` gives."""


class Recipe(NamedTuple):
    """What a worker is made of, wherever it is.

    Attributes:
        contents: of a checkpoint, without the tables.
        num_nodes: of the whole tree.
        own_rule: the user's own rule, which contents do not hold.
        threads: of the worker.
        prepare: is called first; None for nothing.
        twin: whether the game's compiled twin may expand the tree.
    """

    contents: Contents
    num_nodes: int
    own_rule: OwnRule | None
    threads: int
    prepare: Prepare | None
    twin: bool | None = None


class Turn(NamedTuple):
    """What a worker is asked for.

    Attributes:
        last: the last segment, whose logs come with the turn; None if there is none.
        segment: the next one.
        first, end: the tickets of the segment to walk.
    """

    last: Segment | None
    segment: Segment
    first: int
    end: int


class Worker:
    """Holds a tree and tables, and walks and adds as it is told."""

    def __init__(self, recipe: Recipe) -> None:
        """Makes nothing before `get_ready`."""
        self._recipe = recipe
        self._state: SolverState | None = None

    def get_ready(self) -> bool:
        """Makes the tree and the tables, and compiles, at the first call; returns True.

        Raises:
            CheckpointError: the game is another one here.
            ValueError: it cannot be made of its string, or does not fit.
        """
        recipe = self._recipe
        if self._state is not None:
            return True
        if recipe.prepare is not None:
            recipe.prepare()
        header, arrays = contents = recipe.contents
        tree: GameTree | None = None
        if recipe.num_nodes >= LARGE_TREE and "infosets" not in arrays:
            tree = shared_tree(saved_game(header["game"]), twin=recipe.twin)
        tree = files.tree_of(contents, tree, None, None, recipe.twin).expand_all()
        algorithm = files.algorithm_from_json(header["algorithm"], recipe.own_rule)
        threads, seed = recipe.threads, header["seed"]
        state = SolverState(tree, algorithm, seed, threads, splits=True)
        files.check_rules(contents, tree, state, None)
        assert state.splitting is not None
        state.splitting.get_ready()
        self._state = state
        return True

    def turn(self, turn: Turn, tables: State | None, *logs: WalkLog) -> WalkLog | None:
        """Adds up the logs of the last segment, and walks tickets of the next one.

        Args:
            turn: what is asked for.
            tables: those before the next segment; None for a worker that is there, or
                where the last one begins.
            logs: of all tickets of the last segment, in their order.

        Returns:
            The log of these walks; None if the tables are of another place of the run.
        """
        state = self._state
        assert state is not None
        assert state.splitting is not None
        if tables is not None:
            state.restore(tables)
        records = state.records()
        if turn.last is not None and turn.last.place == Place.of(records.walk):
            state.splitting.add(records, turn.last, logs)
        if turn.segment.place != Place.of(records.walk):
            return None
        return state.splitting.walk(records, turn.segment, turn.first, turn.end)
