"""A worker of a cluster: a process's tree, its tables, and its part of an update."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.algorithms import OwnRule
from mccfr_spiel.cluster.packs import Pack, apply, gather, sharing_of
from mccfr_spiel.solving import files
from mccfr_spiel.solving.state import SolverState
from mccfr_spiel.storage.checkpoint import Contents
from mccfr_spiel.tree.cache import cached_in_turn
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import saved_game

LARGE_TREE = 1_000_000
"""The nodes from which on the workers of one machine share a tree in its cache."""

_ENDLESS = 2**62

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
    """The part of an update for which a worker makes the walks.

    Attributes:
        cursor: where the driver stands, see `kernels.CURSOR_SIZE`.
        share, num_shares: see `packs.gather`.
    """

    cursor: tuple[int, ...]
    share: int
    num_shares: int


class Worker:
    """Holds a tree and tables, and walks and updates as it is told."""

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
            tree = cached_in_turn(saved_game(header["game"]), twin=recipe.twin)
        tree = files.tree_of(contents, tree, None, None, recipe.twin).expand_all()
        algorithm = files.algorithm_from_json(header["algorithm"], recipe.own_rule)
        threads, seed = recipe.threads, header["seed"]
        state = SolverState(tree, algorithm, seed, threads, splits=True)
        files.check_rules(contents, tree, state, None)
        for limit in kernels.LAST_ITERATION, kernels.NODE_LIMIT, kernels.PAUSE_LIMIT:
            state.job[limit] = _ENDLESS  # the driver says when to stop
        sharing_of(state).get_ready()
        self._state = state
        return True

    def gather(self, turn: Turn, tables: State | None) -> Pack | None:
        """Makes the walks for the next update in a share of the blocks.

        Args:
            turn: what is asked for.
            tables: the driver's; None for a worker that has them.

        Returns:
            What they found; None if the worker does not stand where the driver does.
        """
        state = self._state
        assert state is not None
        if tables is not None:
            state.restore(tables)
        if turn.cursor != tuple(state.walk.cursor.tolist()):
            return None
        return gather(state, turn.share, turn.num_shares)

    def apply(self, touched: int, *packs: Pack) -> None:
        """Makes the update for which `gather` has walked, see `packs.apply`."""
        assert self._state is not None
        apply(self._state, packs, touched)
