"""Arenas of worlds and of histories, which store infosets but no nodes.

A *world* is a fact that both players share, for example all stones on the board of a
phantom game. Given the world, the private information of the players is independent, so
passes over worlds need fewer steps than passes over histories, see arenas/worlds/.

    WorldArena         worlds listed in arrays; passes are WorldPass
    RemadeWorldArena   worlds recomputed in each pass, if the lists do not fit;
                       passes are SlicedPass
    HistoryArena       no worlds; each pass follows all histories by compiled rules;
                       passes are SlicedPass
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.arena import ArenaTable, Engine, GradientPass
from mccfr_spiel.arenas.full_pass import FullPass, Gradient, SlicedEngine
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.worlds import finding
from mccfr_spiel.arenas.worlds.checking import paying_one
from mccfr_spiel.arenas.worlds.world_lists import GRADIENTS
from mccfr_spiel.arenas.worlds.world_passes import LAYOUTS, make_world_iterate
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.common.memory import (
    num_cores,
)
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.frame import Layout


class ArenaWithoutNodes(ArenaTable):
    """An arena that knows all infosets and computes gradients, without stored nodes.

    Attributes:
        utilities: `[U, P]` the U distinct vectors of returns of the P players.
    """

    has_gradients = True
    utilities: Any

    @property
    def knows_all_infosets(self) -> bool:
        """True, because the search for worlds, hands or histories finds them all."""
        return True

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena. The header contains a hash of the infosets, and there are no
        arrays, because the search finds the infosets again."""
        return {"rules": self.digest(), "store": self.store}, {}


class WorldArena(ArenaWithoutNodes):
    """The worlds of a game, listed in arrays.

    Attributes:
        worlds: the arrays that passes read.
    """

    name, store = "worlds", "worlds"
    finder = staticmethod(finding.find_worlds)
    worlds: Any

    def __init__(
        self,
        source: pyspiel.Game,
        rules: BoundRules,
        found: finding.SearchResult,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Adopts the result of a search for worlds or histories.

        Args:
            source: the game as the user passed it.
            rules: compiled rules of the game or of its twin.
            found: result of `finding.cached_worlds`.
            budget, max_nodes, twin: see ArenaTable.
        """
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

    def _kept_in_words(self) -> str:
        return f"{self.worlds.num_worlds:,} worlds"

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State]:
        """A state of each given infoset, replayed from a history that reaches it."""
        search = self.rules, self.budget, self.finder
        worlds = finding.cached_worlds(*search, with_histories=True)
        for infoset in infosets:
            length, *moves = worlds.histories[infoset].tolist()
            yield replayed(self.game, moves[:length])

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """See Arena. Each thread computes the gradients of some players, so at most one
        thread per updated player is used."""
        max_threads = updated or self.num_players
        threads = cutting.checked_threads(threads) or num_cores()
        return WorldPass(self, min(threads, max_threads))


class RemadeWorldArena(WorldArena):
    """An arena of worlds that are recomputed in each pass, because lists of them do not
    fit into memory."""

    name = "worlds, made again by each pass"

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """See Arena. Passes use one thread and may pause between slices of work."""
        cutting.checked_threads(threads)
        return SlicedPass(self, self._start)

    def _start(self, plan: np.ndarray, players: range) -> GradientPass:
        assert self._start_pass is not None
        return self._start_pass(plan, players)


class HistoryArena(RemadeWorldArena):
    """An arena that stores infosets only. Each pass follows all histories of the game
    by compiled rules."""

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
    """Finds a game's worlds or histories and builds their arena.

    Results are cached for the lifetime of the process.

    Args:
        rules: compiled rules of the game or of its twin.
        source: the game as the user passed it.
        budget: memory budget of the arena.
        has_worlds: whether to search for worlds instead of histories.
        settings: keyword arguments of `ArenaTable`.

    Raises:
        MemoryBudgetError: the arena does not fit the budget.
        GameError: the rules contradict themselves or the game's declarations.
    """
    find = finding.find_worlds if has_worlds else finding.find_histories
    found = finding.cached_worlds(rules, budget, find)
    arena_class: Callable[..., WorldArena] = HistoryArena
    if has_worlds:
        arena_class = WorldArena if found.start_pass is None else RemadeWorldArena
    return arena_class(source, rules, found, budget, **settings)


# --- passes ---------------------------------------------------------------------------


class WorldPass(FullPass):
    """Passes over listed worlds.

    Threads work in parallel on the gradients of different players.
    """

    table: WorldArena

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """See FullPass: the lists of worlds."""
        return self.table.worlds

    @property
    def layout(self) -> Layout:
        """See FullPass."""
        return LAYOUTS[type(self.table.worlds)]

    def make_iterate(self, rule: str) -> Any:
        """See FullPass."""
        return make_world_iterate(rule, type(self.table.worlds))

    def records(self) -> tuple[Any, ...]:
        """See FullPass."""
        return *super().records(), self.table.worlds

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """See FullPass; the gradient is complete when this returns."""
        return Gradient(self._summed(self.table.worlds, plan, players))

    def _summed(self, worlds: Any, plan: np.ndarray, players: range) -> np.ndarray:
        """`[S]` gradients of some players from a list like the arena's own list."""
        add, gradient = GRADIENTS[type(worlds)], np.zeros_like(plan)

        def add_for(part: tuple[int, int]) -> None:
            for player in players[slice(*part)]:
                add(worlds, player, plan, gradient)

        teams.in_parts(self.num_threads, len(players), add_for)
        return gradient

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """See FullPass.

        Raises:
            MemoryBudgetError: a copy of the payoffs does not fit the arena's budget.
        """
        table, worlds = self.table, self.table.worlds
        size = worlds.returns.nbytes + 3 * plan.nbytes
        table.budget.require(size, "The reaches of information sets take")
        players = range(table.num_players)
        return self.reaches_of(self._summed(paying_one(worlds), plan, players))


class SlicedPass(FullPass):
    """Passes whose gradients are computed in slices of work, with pauses for signal
    handlers and other threads."""

    table: WorldArena

    def __init__(
        self, table: WorldArena, start: Callable[[np.ndarray, range], GradientPass]
    ) -> None:
        """Stores the arguments.

        Args:
            table: the arena.
            start: function (plan, players) that begins the computation of gradients.
        """
        super().__init__(table)
        self._start = start

    @property
    def lists(self) -> Iterable[np.ndarray]:
        """See FullPass: the arrays of the search result."""
        return self.table.worlds

    def engine(self, rule: str) -> Engine:
        """See FullPass."""
        return SlicedEngine(self, rule)

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """See FullPass."""
        return self._start(plan, players)

    def gradients(self, plan: np.ndarray, players: range) -> np.ndarray:
        """See FullPass; shows a progress bar on a terminal."""
        started: Any = self._start(plan, players)
        return started.finish("a pass over").gradient
