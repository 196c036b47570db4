"""The arenas of worlds and of histories, which keep infosets and no nodes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.arena import ArenaTable, Engine, GradientPass
from mccfr_spiel.arenas.full_pass import FullPass, Gradient, SlicedEngine
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.rules.description import BoundRules
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.arenas.worlds import finding
from mccfr_spiel.arenas.worlds.passes import GRADIENTS, LAYOUTS, make_world_iterate
from mccfr_spiel.common.limits import Budget, num_cores
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.frame import Layout


class ArenaWithoutNodes(ArenaTable):
    """An arena that knows all infosets, keeps no nodes and offers gradients.

    Attributes:
        worlds: what passes read.
        utilities: `[U, P]` the different vectors of returns.
    """

    has_gradients = True
    worlds: Any
    utilities: np.ndarray

    @property
    def knows_all_infosets(self) -> bool:
        """Always."""
        return True

    def _kept_in_words(self) -> str:
        return f"{self.worlds.num_worlds:,} worlds"

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena."""
        return {"rules": self.digest(), "store": self.store}, {}


# --- what compiled rules find ---------------------------------------------------------


class WorldArena(ArenaWithoutNodes):
    """The worlds of a game, listed for passes."""

    name, store = "worlds", "worlds"
    finder = staticmethod(finding.find_worlds)

    def __init__(
        self,
        source: pyspiel.Game,
        rules: BoundRules,
        found: finding.Found,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Takes over what `known_worlds` found by the rules; see ArenaTable."""
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        self.rules = rules
        self.infosets, self.actions, self.worlds = (
            found.infosets,
            found.actions,
            found.worlds,
        )
        self.infoset_names = KeyNames(rules, found.keys, found.infosets["player"])
        self.utilities = found.worlds.payoffs
        self._start_pass = found.start_pass

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State]:
        """A state of each of the infosets, by the history noted for it."""
        how = self.rules, self.budget, self.finder
        known = finding.known_worlds(*how, with_histories=True)
        for infoset in infosets:
            length, *moves = known.histories[infoset].tolist()
            yield replayed(self.game, moves[:length])

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """Passes over the worlds, in which each player's gradient has a thread."""
        most = updated or self.num_players
        threads = whole.checked_threads(threads) or num_cores()
        return WorldPass(self, min(threads, most))


class RemadeWorldArena(WorldArena):
    """The worlds of a game whose lists do not fit: each pass makes them again."""

    name = "worlds, made again by each pass"

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """Passes in slices, which one thread makes."""
        whole.checked_threads(threads)
        return SlicedPass(self, self._start)

    def _start(self, plan: np.ndarray, players: range) -> GradientPass:
        assert self._start_pass is not None
        return self._start_pass(plan, players)


class HistoryArena(RemadeWorldArena):
    """The infosets of a game: each pass follows all histories by the rules."""

    name, store = "histories", "none"
    finder = staticmethod(finding.find_histories)

    def _kept_in_words(self) -> str:
        return f"{self.worlds.size[1]:,} histories"


def find_arena(
    rules: BoundRules,
    source: pyspiel.Game,
    budget: Budget,
    *,
    has_worlds: bool,
    **settings: Any,
) -> WorldArena:
    """The arena of a game's worlds, or of its histories.

    What is found of a game is kept while the process lives.

    Args:
        rules: the game's, or its twin's.
        source: the game as it was given.
        budget: the bytes that the arena may take.
        has_worlds: whether to find worlds.
        settings: see `ArenaTable`.

    Raises:
        MemoryBudgetError: they do not fit the budget.
        GameError: the game's rules contradict themselves or what they declare.
    """
    find = finding.find_worlds if has_worlds else finding.find_histories
    found = finding.known_worlds(rules, budget, find)
    kind: Callable[..., WorldArena] = HistoryArena
    if has_worlds:
        kind = WorldArena if found.start_pass is None else RemadeWorldArena
    return kind(source, rules, found, budget, **settings)


# --- their passes ---------------------------------------------------------------------


class WorldPass(FullPass):
    """Passes over listed worlds. Each player's gradient may have a thread of its own,
    or each block's."""

    table: ArenaWithoutNodes

    def __init__(
        self, table: ArenaWithoutNodes, num_threads: int, num_blocks: int = 1
    ) -> None:
        """Makes nothing yet.

        Args:
            table: the arena.
            num_threads: the threads that share a pass.
            num_blocks: into how many pieces each player's gradient is cut.
        """
        super().__init__(table, num_threads)
        self._num_blocks = num_blocks

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """The lists of the worlds."""
        return self.table.worlds

    @property
    def layout(self) -> Layout:
        """As in FullPass."""
        return LAYOUTS[type(self.table.worlds)]

    def make_iterate(self, rule: str) -> Any:
        """As in FullPass."""
        return make_world_iterate(rule, type(self.table.worlds))

    def records(self) -> tuple[Any, ...]:
        """As in FullPass."""
        return *super().records(), self.table.worlds

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """As in FullPass; complete at once."""
        worlds, each = self.table.worlds, self._num_blocks
        gradient, add = np.zeros_like(plan), GRADIENTS[type(worlds)]

        def add_for(part: tuple[int, int]) -> None:
            first = each * players.start
            for piece in range(first + part[0], first + part[1]):
                add(worlds, piece, plan, gradient)

        teams.in_parts(self.num_threads, each * len(players), add_for)
        return Gradient(gradient)


class SlicedPass(FullPass):
    """Passes that are made in slices."""

    table: WorldArena

    def __init__(
        self, table: WorldArena, start: Callable[[np.ndarray, range], GradientPass]
    ) -> None:
        """Makes nothing yet; `start` begins a pass."""
        super().__init__(table)
        self._start = start

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """What is kept of the game."""
        return self.table.worlds

    def engine(self, rule: str) -> Engine:
        """As in FullPass."""
        return SlicedEngine(self, rule)

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """As in FullPass."""
        return self._start(plan, players)

    def gradients(self, plan: np.ndarray, players: range) -> np.ndarray:
        """As in FullPass, with a bar on a terminal."""
        started: Any = self._start(plan, players)
        return started.finish("a pass over").gradient
