"""choose_arena: decides in which arena an algorithm runs.

The table CANDIDATES lists the arenas in order of preference. `choose_arena` returns the
first arena in the table that
- keeps what the user's `store` asks for,
- suits the game and the algorithm (the row's `why_not` returns None), and
- fits into the limits on nodes and memory when it is built.

For example, the rows for `Solver("phantom_ttt", CFR_PLUS)` are whole tree, hands of
cards, worlds, compiled rules and growing tree. A forecast shows that the whole tree is
too large, the game does not deal hands, and worlds are the first row that suits.

If no row is left, the error lists each row with its reason. Every refusal of a
combination of store, algorithm, abstraction, twin, cluster and locks is a sentence in
why_not.py or, if it depends on the algorithm alone, in needs.py.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mccfr_spiel.arenas.arena import Arena, ArenaTable
from mccfr_spiel.arenas.building import (
    UnsuitableError,
    build_growing_tree,
    build_hands,
    build_histories,
    build_rules,
    build_whole_tree,
    build_worlds,
)
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION, Needs
from mccfr_spiel.arenas.request import STORES, ArenaRequest, Game, Limits
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree_arenas import GrowingTree, WholeTree
from mccfr_spiel.arenas.why_not import (
    never_too_large,
    why_not_given,
    why_not_growing_tree,
    why_not_hands,
    why_not_histories,
    why_not_rules,
    why_not_whole_tree,
    why_not_worlds,
    why_nowhere,
    why_whole_tree_is_too_large,
)
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
    TreeFullError,
)
from mccfr_spiel.common.display import brief


class Candidate(NamedTuple):
    """A row of the table.

    Attributes:
        name: name of the arena in messages.
        stores: values of `store` that admit the arena.
        why_not: returns why the arena does not suit, or None.
        why_too_large: returns the error if the arena surely does not fit, or None.
        build: builds the arena; raises ValueError if that fails.
    """

    name: str
    stores: tuple[str, ...]
    why_not: Callable[[ArenaRequest], str | None]
    why_too_large: Callable[[ArenaRequest], TreeFullError | None]
    build: Callable[[ArenaRequest], Arena]


CANDIDATES = (
    Candidate(
        name="whole tree",
        stores=("auto", "tree"),
        why_not=why_not_whole_tree,
        why_too_large=why_whole_tree_is_too_large,
        build=build_whole_tree,
    ),
    Candidate(
        name="hands of cards",
        stores=("auto", "worlds"),
        why_not=why_not_hands,
        why_too_large=never_too_large,
        build=build_hands,
    ),
    Candidate(
        name="worlds",
        stores=("auto", "worlds"),
        why_not=why_not_worlds,
        why_too_large=never_too_large,
        build=build_worlds,
    ),
    Candidate(
        name="histories",
        stores=("none",),
        why_not=why_not_histories,
        why_too_large=never_too_large,
        build=build_histories,
    ),
    Candidate(
        name="compiled rules",
        stores=("auto", "none"),
        why_not=why_not_rules,
        why_too_large=never_too_large,
        build=build_rules,
    ),
    Candidate(
        name="growing tree",
        stores=("auto", "tree"),
        why_not=why_not_growing_tree,
        why_too_large=never_too_large,
        build=build_growing_tree,
    ),
)
"""The arenas in order of preference."""


def choose_arena(
    game: Game, needs: Needs, store: str = "auto", limits: Limits | None = None
) -> Arena:
    """Builds the first arena of the table that suits an algorithm and fits.

    Args:
        game: game, load string, or arena. An arena keeps its own limits.
        needs: requirements of the algorithm.
        store: one of STORES, see `Solver`.
        limits: limits of a new arena; the defaults of `Limits` if None.

    Raises:
        TreeFullError, MemoryBudgetError: no arena suits and fits, and at least one was
            too large. The message lists all of them.
        ValueError: no arena suits, or an argument is invalid.
    """
    if store not in STORES:
        raise ValueError(f"Unknown store={store!r}; use one of {', '.join(STORES)}.")
    if isinstance(game, InfosetTable) and not isinstance(game, GameTree):
        return _given_arena(game, needs, store)
    request = _request(game, needs, store, limits or Limits())
    refuse_everywhere(request.tree, needs, store)
    failures: list[tuple[str, ValueError]] = []
    rows = [row for row in CANDIDATES if request.asks_for(*row.stores)]
    # Each pass tries one row. The loop returns the first arena that can be built and
    # otherwise collects the row's reason.
    for position, row in enumerate(rows):
        if reason := row.why_not(request):
            failures.append((row.name, ValueError(reason)))
            continue
        try:
            # A forecast takes half a second. It pays only if a later row could be
            # built instead of this one.
            alternatives = rows[position + 1 :] if needs.all_infosets else ()
            if any(not other.why_not(request) for other in alternatives):
                error = row.why_too_large(request)
                if error is not None:
                    raise error
            return row.build(request)
        except (TreeFullError, UnsuitableError) as error:
            failures.append((row.name, error))
    raise _refusal(request, failures)


def answers(
    game: GameTree, needs: Needs, store: str = "auto"
) -> Iterator[tuple[str, str | None]]:
    """Predicts the decision of `choose_arena` without building an arena.

    Yields the name of each candidate and the reason why it does not suit or fit, or
    None. The first candidate without a reason is chosen if it fits when it is built.
    """
    request = ArenaRequest(game, needs, store, True)
    nowhere = why_nowhere(request)
    for row in CANDIDATES:
        if request.asks_for(*row.stores):
            reason = nowhere or row.why_not(request)
            if not reason and (error := row.why_too_large(request)):
                reason = str(error)
            yield row.name, reason or None


def is_possible(game: GameTree, needs: Needs, store: str = "auto") -> bool:
    """Whether at least one arena suits an algorithm and may fit."""
    return any(reason is None for _, reason in answers(game, needs, store))


def takes_worlds(game: GameTree) -> bool:
    """Whether exact evaluations of a game use worlds or hands because its tree is too
    large."""
    chosen = (name for name, reason in answers(game, EVALUATION) if reason is None)
    return next(chosen, WholeTree.name) != WholeTree.name


def refuse_everywhere(game: GameTree, needs: Needs, store: str) -> None:
    """Raises ValueError if an algorithm runs in no arena of a game, whatever its
    size."""
    if reason := why_nowhere(ArenaRequest(game, needs, store, True)):
        raise ValueError(reason)


def arena_of(table: Any) -> Arena:
    """The arena of a table that knows all infosets: the table itself, or a view of a
    complete tree.

    Raises:
        ValueError: the table belongs to no arena, or keeps no gradients.
    """
    if isinstance(table, GameTree):
        return WholeTree(table)
    return _given_arena(table, EVALUATION, "auto")


def _request(game: Any, needs: Needs, store: str, limits: Limits) -> ArenaRequest:
    """The request for a game or a tree.

    Raises:
        ValueError: `GameTree` refuses the game, or the tree lacks the abstraction.
    """
    if isinstance(game, GameTree):
        if needs.abstraction not in (None, game.abstraction):
            raise ValueError(
                "This tree was built without the abstraction. Pass the abstraction to "
                "GameTree instead."
            )
        return ArenaRequest(game, needs, store, True)
    tree = GameTree(
        game,
        max_nodes=limits.max_nodes,
        max_memory=limits.max_memory,
        abstraction=needs.abstraction,
        twin=limits.twin,
    )
    return ArenaRequest(tree, needs, store, False)


def _given_arena(arena: Any, needs: Needs, store: str) -> Arena:
    """The arena that the user passed as `game`.

    Raises:
        ValueError: the algorithm cannot run in that arena.
    """
    request = ArenaRequest(arena, needs, store, True)
    nowhere = why_nowhere(request)
    if not isinstance(arena, ArenaTable):
        raise ValueError(f"game={arena!r} is not an arena. Pass the game instead.")
    if reason := nowhere or why_not_given(arena, request):
        raise ValueError(reason)
    return arena


def _refusal(
    request: ArenaRequest, failures: list[tuple[str, ValueError]]
) -> ValueError:
    """The error that lists the reason of each failed row.

    If the algorithm needs all infosets, the growing tree is left out: it has the same
    arrays as the whole tree, whose reason is already listed.
    """
    has_whole = any(name == WholeTree.name for name, _ in failures)
    if has_whole and request.needs.all_infosets:
        failures = [row for row in failures if row[0] != GrowingTree.name]
    too_large = [error for _, error in failures if isinstance(error, TreeFullError)]
    too_many_bytes = [e for e in too_large if isinstance(e, MemoryBudgetError)]
    cause = next(iter(too_many_bytes or too_large), failures[0][1])
    if len({str(error) for _, error in failures}) == 1:
        return cause
    heading = f"{brief(request.tree.source)} has no arena for {request.needs.algorithm}"
    lines = [f"  {name}: {error}" for name, error in failures]
    error = type(cause)("\n".join([f"{heading}:", *lines]))
    error.__cause__ = cause
    return error
