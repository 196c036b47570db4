"""choose_arena: decides in which arena an algorithm runs.

The table CANDIDATES lists the arenas in order of preference. `choose_arena` returns the
first arena in the table that
- is admitted by the user's argument `store`, such as "tree" or "worlds",
- suits the game and the algorithm (the row's `why_not` returns None), and
- can be built within the limits on nodes and memory.

For example, the rows for `Solver("phantom_ttt", CFR_PLUS)` are whole tree, hands of
cards, worlds, compiled rules and growing tree. A forecast shows that the whole tree is
too large, and the game does not deal hands, so the next row is chosen: worlds.

If every row fails, the error lists each row with its reason. The messages that refuse a
combination of store, algorithm, abstraction, twin, cluster and locks are in why_not.py,
or in needs.py if they depend on the algorithm alone.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mccfr_spiel.arenas.arena import Arena, ArenaTable
from mccfr_spiel.arenas.building import (
    UnsuitableError,
    build_blocks,
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
    why_not_blocks,
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
        why_not: function that returns the reason why the arena cannot be used; None if
            it can.
        why_too_large: function that forecasts the size of the arena. It returns an
            error if the arena surely exceeds the limits, and None otherwise.
        build: function that builds the arena; it raises ValueError on failure.
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
        name="blocks of hands",
        stores=("auto", "blocks"),
        why_not=why_not_blocks,
        why_too_large=never_too_large,
        build=build_blocks,
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
        game: game, load string, or arena. With an arena, `limits` is ignored.
        needs: requirements of the algorithm.
        store: one of STORES, see `Solver`.
        limits: limits of a new arena; the defaults of `Limits` if None.

    Raises:
        TreeFullError, MemoryBudgetError: no arena could be built, and at least one was
            too large. The message lists the reason for each candidate.
        ValueError: no arena suits the game and the algorithm, or an argument is
            invalid.
    """
    if store not in STORES:
        raise ValueError(f"Unknown store={store!r}; use one of {', '.join(STORES)}.")
    if isinstance(game, InfosetTable) and not isinstance(game, GameTree):
        return _given_arena(game, needs, store)
    request = _request(game, needs, store, limits or Limits())
    refuse_everywhere(request.tree, needs, store)
    failures: list[tuple[str, ValueError]] = []
    rows = [row for row in CANDIDATES if request.asks_for(*row.stores)]
    # Each pass tries one row of the table and records the reason if the row fails. The
    # function returns the first arena that can be built.
    for position, row in enumerate(rows):
        if reason := row.why_not(request):
            failures.append((row.name, ValueError(reason)))
            continue
        try:
            # A forecast costs half a second. It is only useful if a later row could be
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

    The first candidate with the reason None is chosen unless it turns out to be too
    large while it is built.

    Yields:
        The name of each candidate, and the reason why it cannot be used; None if it
        can.
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
    """Whether at least one arena suits an algorithm and is not surely too large."""
    return any(reason is None for _, reason in answers(game, needs, store))


def takes_worlds(game: GameTree) -> bool:
    """Whether `choose_arena` would evaluate policies of a game by worlds or hands of
    cards instead of the whole tree, as `answers` predicts."""
    chosen = (name for name, reason in answers(game, EVALUATION) if reason is None)
    return next(chosen, WholeTree.name) != WholeTree.name


def refuse_everywhere(game: GameTree, needs: Needs, store: str) -> None:
    """Raises ValueError if an algorithm cannot run in any arena of a game, even if
    memory were unlimited."""
    if reason := why_nowhere(ArenaRequest(game, needs, store, True)):
        raise ValueError(reason)


def arena_of(table: Any) -> Arena:
    """The arena of a table of infosets, for exact evaluation.

    Returns:
        A WholeTree if the table is a GameTree; otherwise the table itself, which is an
        ArenaTable.

    Raises:
        ValueError: the table is not an arena, or the arena cannot compute gradients.
    """
    if isinstance(table, GameTree):
        return WholeTree(table)
    return _given_arena(table, EVALUATION, "auto")


def _request(game: Any, needs: Needs, store: str, limits: Limits) -> ArenaRequest:
    """The input of all candidates, with a new GameTree unless `game` is one.

    Raises:
        ValueError: `GameTree` refuses the game, or the given tree was built without the
            abstraction in `needs`.
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
    """Returns the arena that the user passed as `game`, after checks.

    Raises:
        ValueError: `arena` is not an ArenaTable, or the algorithm cannot run in it.
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

    The class of the error is MemoryBudgetError or TreeFullError if such an error is
    among the failures. If the algorithm needs all infosets, the row of the growing tree
    is omitted, because the row of the whole tree says the same.
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
