"""The choice of an arena: one ordered table of candidates, and one function.

A candidate says in a sentence why an algorithm cannot run in it, or None. The first
candidate that can, and that fits when it is built, is the arena. All refusals of
combinations of a store, an algorithm, an abstraction, a twin, a cluster and locks are
sentences of this file or of needs.py.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.arenas.arena import Arena, ArenaTable
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import EVALUATION, Needs
from mccfr_spiel.arenas.rule_arena import RuleArena
from mccfr_spiel.arenas.rules.description import BoundRules, GameError
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.arenas.tree.twin_choice import Use, known_twin
from mccfr_spiel.arenas.tree_arenas import GrowingTree, WholeTree
from mccfr_spiel.arenas.world_arenas import find_arena
from mccfr_spiel.arenas.worlds import finding, public_tree
from mccfr_spiel.common import limits
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import (
    Budget,
    MaxMemory,
    MemoryBudgetError,
    TreeFullError,
)

STORES = "auto", "tree", "none", "worlds"
"""The values of `store`."""

MOST_NODES_AHEAD = 20_000_000
"""The most nodes that compiled rules expand in advance, which takes a few seconds."""

MOST_HISTORY_NODES = 10**11
"""The most nodes of a game that passes over histories visit, in about an hour."""

FEW_NODES_AHEAD = 1_000_000
"""The nodes that are expanded before the size of the tree is estimated."""

_WHOLE = "whole tree"

Game = pyspiel.Game | str | InfosetTable
"""A game, its load string, or an arena of it, such as a GameTree."""


class UnsuitableError(ValueError):
    """A game cannot be taken by an arena, which turned out while that was built."""


class Limits(NamedTuple):
    """Limits of an arena that is made, each as in `GameTree`."""

    max_nodes: int = DEFAULT_MAX_NODES
    max_memory: MaxMemory = None
    twin: bool | None = None


class Case(NamedTuple):
    """What an arena is wanted for.

    Attributes:
        tree: of the game; new unless the user gave one.
        needs: of the algorithm.
        store: one of STORES.
        is_given: whether the user gave the tree, which then keeps its budget.
    """

    tree: GameTree
    needs: Needs
    store: str
    is_given: bool

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of an arena without nodes."""
        return {"max_nodes": self.tree.max_nodes, "twin": self.tree.twin}

    def new_budget(self) -> Budget:
        """The budget of an arena without nodes: the tree's, unless a user has that."""
        return self.tree.budget.renewed() if self.is_given else self.tree.budget

    def wants(self, *stores: str) -> bool:
        """Whether the user's `store` is one of these."""
        return self.store in stores


class Candidate(NamedTuple):
    """A row of the table.

    Attributes:
        name: of the arena.
        stores: the values of `store` that ask for it.
        why_not: says in a sentence why the arena does not suit; None if it does.
        why_too_large: the error if the arena surely does not fit; None if it may.
        build: makes the arena; raises ValueError, such as a TreeFullError, and then
            holds no memory.
    """

    name: str
    stores: tuple[str, ...]
    why_not: Callable[[Case], str | None]
    why_too_large: Callable[[Case], TreeFullError | None]
    build: Callable[[Case], Arena]


def choose_arena(
    game: Game, needs: Needs, store: str = "auto", limits: Limits | None = None
) -> Arena:
    """The first arena of the table that suits an algorithm and fits.

    Args:
        game: a game, its load string, or an arena, whose limits then count.
        needs: of the algorithm.
        store: "auto", or what must be kept, see `Solver`.
        limits: of an arena that is made; by default those of `Limits`.

    Raises:
        TreeFullError, MemoryBudgetError: no arena suits and fits, and one of them was
            too large. The message lists all.
        ValueError: no arena suits; or an argument is wrong.
    """
    if store not in STORES:
        raise ValueError(f"store={store!r} is not one of {', '.join(STORES)}.")
    if isinstance(game, InfosetTable) and not isinstance(game, GameTree):
        return _given_arena(game, needs, store)
    case = _case_of(game, needs, store, limits or Limits())
    refuse_everywhere(case.tree, needs, store)
    failures: list[tuple[str, ValueError]] = []
    candidates = [row for row in CANDIDATES if case.wants(*row.stores)]
    for position, candidate in enumerate(candidates):
        if reason := candidate.why_not(case):
            failures.append((candidate.name, ValueError(reason)))
            continue
        try:
            # A forecast takes half a second, and is made if another row may take over.
            others = candidates[position + 1 :] if needs.all_infosets else ()
            if any(not row.why_not(case) for row in others):
                error = candidate.why_too_large(case)
                if error is not None:
                    raise error
            return candidate.build(case)
        except (TreeFullError, UnsuitableError) as error:
            failures.append((candidate.name, error))
    raise _refusal(case, failures)


def refuse_everywhere(game: GameTree, needs: Needs, store: str) -> None:
    """Raises ValueError if an algorithm runs in no arena of a game, whatever fits."""
    if reason := _why_nowhere(Case(game, needs, store, True)):
        raise ValueError(reason)


def answers(
    game: GameTree, needs: Needs, store: str = "auto"
) -> Iterator[tuple[str, str | None]]:
    """What `choose_arena` would find out about each candidate, without building any.

    Yields the name of an arena, and why it does not suit or fit; None if it may be
    built. The first of these is chosen if it fits.
    """
    case = Case(game, needs, store, True)
    nowhere = _why_nowhere(case)
    for candidate in CANDIDATES:
        if case.wants(*candidate.stores):
            reason = nowhere or candidate.why_not(case)
            if not reason and (error := candidate.why_too_large(case)):
                reason = str(error)
            yield candidate.name, reason or None


def is_possible(game: GameTree, needs: Needs, store: str = "auto") -> bool:
    """Whether some arena suits an algorithm and may fit."""
    return any(reason is None for _, reason in answers(game, needs, store))


def takes_worlds(game: GameTree) -> bool:
    """Whether exact evaluations of a game take worlds or hands, as its tree is too
    large."""
    chosen = (name for name, reason in answers(game, EVALUATION) if reason is None)
    return next(chosen, _WHOLE) != _WHOLE


def _case_of(game: Any, needs: Needs, store: str, limits: Limits) -> Case:
    """The case of a game or a tree.

    Raises:
        ValueError: the game cannot be solved, see `GameTree`; or the tree was made
            without the abstraction.
    """
    is_given = isinstance(game, GameTree)
    if not is_given:
        tree = GameTree(
            game,
            max_nodes=limits.max_nodes,
            max_memory=limits.max_memory,
            abstraction=needs.abstraction,
            twin=limits.twin,
        )
    else:
        tree = game
        if needs.abstraction not in (None, tree.abstraction):
            raise ValueError(
                "This tree was built without the abstraction. Pass the abstraction to "
                "GameTree instead."
            )
    return Case(tree, needs, store, is_given)


def _given_arena(arena: Any, needs: Needs, store: str) -> Arena:
    """The arena that a user gives in place of a game; raises ValueError if the
    algorithm cannot run in it."""
    reason = _why_nowhere(Case(arena, needs, store, True))
    if not isinstance(arena, ArenaTable):
        reason = f"game={arena!r} is no arena; give the game."
    elif reason:
        pass
    elif store not in ("auto", arena.store):
        reason = (
            f"This arena of {brief(arena.source)} keeps no nodes, but store={store!r} "
            "is asked for. Give the solver the game instead."
        )
    elif arena.has_gradients and not needs.can_do_without_nodes:
        reason = (
            f"This arena of {brief(arena.source)} keeps worlds or infosets only, and "
            f"store='worlds' is for algorithms that sample and prune nothing. "
            f"{needs.algorithm} does; give the solver the game instead."
        )
    elif not arena.has_gradients and needs.all_infosets:
        reason = (
            f"This arena of {brief(arena.source)} is that of walks over compiled "
            f"rules, which keep no nodes, and {needs.algorithm} needs all of them. "
            "Give the game instead."
        )
    if reason:
        raise ValueError(reason)
    return arena


def _refusal(case: Case, failures: list[tuple[str, ValueError]]) -> ValueError:
    """The error that lists why each candidate failed. What was said of the whole tree
    stands for the growing one, which has the same arrays."""
    if any(name == _WHOLE for name, _ in failures) and case.needs.all_infosets:
        failures = [row for row in failures if row[0] != GrowingTree.name]
    too_large = [error for _, error in failures if isinstance(error, TreeFullError)]
    sentences = list(dict.fromkeys(str(error) for _, error in failures))
    in_memory = [one for one in too_large if isinstance(one, MemoryBudgetError)]
    cause = next(iter(in_memory or too_large), failures[0][1])
    if len(sentences) == 1:
        return cause
    lines = [f"  {name}: {error}" for name, error in failures]
    what = f"{brief(case.tree.source)} has no arena for {case.needs.algorithm}:"
    error = type(cause)("\n".join([what, *lines]))
    error.__cause__ = cause
    return error


# --- sentences that hold for every arena ----------------------------------------------


def _why_nowhere(case: Case) -> str:
    """Why the algorithm runs in no arena of the game; empty if it may run."""
    table, needs = case.tree, case.needs
    if table.abstraction is not None and needs.no_abstraction:
        return needs.no_abstraction
    if table.abstraction is not None and table.num_players < 2:
        return (
            f"{brief(table.source)} has one player. With an abstraction the average "
            "is made in the walks for other players, so there must be two or more."
        )
    if needs.leaf_rows and table.num_players != 2:
        return (
            'prune="regret" sums up what the other player has played, and '
            f"{brief(table.source)} has {table.num_players} players; use "
            "ms.algorithms.PRUNED_CFR or ms.CFR."
        )
    if needs.locks and needs.no_locks:
        return needs.no_locks
    return _why_no_cluster(case) if needs.cluster else ""


def _why_no_cluster(case: Case) -> str:
    table, needs = case.tree, case.needs
    if needs.no_cluster:
        return needs.no_cluster
    if table.abstraction is not None:
        return (
            "With an abstraction, infosets share policies, which a cluster cannot "
            "split; drop cluster or the abstraction."
        )
    if case.store == "none":
        return (
            "store='none' keeps no tree, and a cluster splits walks over a whole one; "
            "drop one of them."
        )
    try:
        load_game(str(table.source))
    except ValueError as error:
        return (
            "Each worker of a cluster makes the game from its string, which for "
            f"{brief(table.source)} is not enough. {error}"
        )
    return ""


def _fits(case: Case) -> TreeFullError | None:
    """No forecast: the arena may fit."""
    return None


# --- trees ----------------------------------------------------------------------------


def _why_not_whole(case: Case) -> str | None:
    tree, needs = case.tree, case.needs
    if tree.is_complete and tree.num_infosets:
        return None
    if needs.all_infosets:
        is_free = case.wants("auto") and needs.can_do_without_nodes and tree.is_new
        if is_free and _has_hands(tree) and public_tree.needs_public_tree(tree.game):
            return "The game is always played by hands of cards."
        return None
    if not tree.is_new:
        return "The tree grows with the walks."
    if tree.rules_for("walking") is None:
        return "No compiled rules expand the tree in advance."
    return None


def _why_whole_is_too_large(case: Case) -> TreeFullError | None:
    tree, most = case.tree, case.tree.max_nodes
    if not case.needs.all_infosets:
        most = min(most, MOST_NODES_AHEAD)
    if tree.is_complete:
        return None
    try:
        tree.refuse_if_larger(most)
    except TreeFullError as error:
        return error
    return None


def _expand(case: Case) -> Arena:
    """Expands the whole tree; for walks, as far as that takes a few seconds."""
    tree = case.tree
    if case.needs.all_infosets:
        try:
            tree.expand_all()
        except TreeFullError as error:
            error.add_note(f"{case.needs.algorithm} needs the whole tree.")
            raise
    elif not tree.is_complete:
        _expand_ahead(tree)
    return WholeTree(tree)


def _expand_ahead(tree: GameTree) -> None:
    """Expands a tree by compiled rules, if that takes a few seconds.

    Raises:
        TreeFullError: the tree is too large for that, or for its limits.
    """
    try:
        tree.expand_by_rules(FEW_NODES_AHEAD)
    except TreeFullError:
        # A forecast takes half a second, in which small trees have long been made.
        if tree.is_surely_larger_than(MOST_NODES_AHEAD):
            raise
        tree.expand_by_rules(MOST_NODES_AHEAD)


def _why_not_growing(case: Case) -> str | None:
    if case.needs.all_infosets:
        return f"{case.needs.algorithm} needs the whole tree."
    return None


# --- worlds and rules -----------------------------------------------------------------


def _why_no_nodes_is_wrong(case: Case) -> str | None:
    """Why passes without nodes do not suit."""
    if not case.needs.can_do_without_nodes:
        return (
            "store='worlds' is for algorithms that sample and prune nothing, and "
            f"{case.needs.algorithm} does; use ms.CFR or ms.CFR_PLUS, or store='none'."
        )
    return _why_not_new(case)


def _why_not_new(case: Case) -> str | None:
    tree = case.tree
    if tree.is_new:
        return None
    return (
        f"The tree of {brief(tree.source)} has {tree.num_nodes} nodes and "
        f"{tree.num_infosets} infosets already, by whose numbers solvers and policies "
        "go; give the game instead."
    )


def _has_hands(tree: GameTree) -> bool:
    return tree.abstraction is None and public_tree.has_public_tree(tree.game)


def _why_not_hands(case: Case) -> str | None:
    if not _has_hands(case.tree):
        return f"{brief(case.tree.source)} is no game of hands of cards."
    return _why_no_nodes_is_wrong(case)


def _why_not_worlds(case: Case) -> str | None:
    tree = case.tree
    if _has_hands(tree):
        return "The game is played by hands of cards."
    rules = tree.rules
    if rules is None and tree.twin is not False and tree.abstraction is None:
        rules = known_twin(tree.game)
    if reason := finding.why_no_worlds(rules):
        return (
            f"store='worlds' takes a game world by world, but {brief(tree.source)} "
            f"{reason}. Use store='tree', or an algorithm that samples."
        )
    return _why_no_nodes_is_wrong(case)


def _why_not_histories(case: Case) -> str | None:
    if not case.needs.all_infosets:
        return f"{case.needs.algorithm} walks over the rules."
    if not case.needs.can_do_without_nodes:
        return (
            f"store='none' keeps no tree, and {case.needs.algorithm} needs a whole "
            "one. Use store='tree', or external or outcome sampling."
        )
    return _why_no_rules(case, "any") or _why_not_new(case)


def _why_not_rules(case: Case) -> str | None:
    if case.needs.all_infosets:
        return (
            f"store='none' keeps no tree, and {case.needs.algorithm} needs a whole "
            "one. Use store='tree', or external or outcome sampling."
        )
    use: Use = "walking" if case.wants("auto") else "any"
    return _why_no_rules(case, use) or _why_not_new(case)


def _why_no_rules(case: Case, use: Use) -> str | None:
    tree = case.tree
    if tree.rules_for(use) is not None:
        return None
    lack = "an abstraction" if tree.abstraction else "no compiled rules"
    if tree.abstraction is None and known_twin(tree.game) is not None:
        why = "twin=False refuses" if tree.twin is False else "differs from it"
        lack += f" but those of its twin, which {why}"
    return (
        f"store='none' walks over compiled rules, but {brief(tree.source)} has {lack}. "
        "Use store='tree' or 'auto'; docs/own_game.md says how to write the rules of a "
        "game."
    )


def _rules(case: Case) -> BoundRules:
    rules = case.tree.rules_for("any")
    if rules is None:
        raise ValueError(_why_no_rules(case, "any"))
    return rules


def _make_rules(case: Case) -> Arena:
    parts = case.tree.source, _rules(case), case.new_budget()
    return RuleArena(*parts, **case.settings)


def _list_hands(case: Case) -> Arena:
    try:
        return HandArena(case.tree.source, case.new_budget(), **case.settings)
    except (TreeFullError, GameError):
        raise
    except ValueError as error:  # such as suits that are merged
        raise UnsuitableError(str(error)) from error


def _find_worlds(case: Case) -> Arena:
    parts = _rules(case), case.tree.source, case.new_budget()
    return find_arena(*parts, has_worlds=True, **case.settings)


def _find_histories(case: Case) -> Arena:
    estimate = case.tree.forecast(MOST_HISTORY_NODES)
    if limits.exceeds(estimate.nodes, MOST_HISTORY_NODES):
        raise TreeFullError(
            f"{brief(case.tree.source)} has {estimate.in_words()}. store='none' visits "
            f"all of them in each pass, and more than {MOST_HISTORY_NODES:.0e} would "
            "take hours. Use external or outcome sampling."
        )
    parts = _rules(case), case.tree.source, case.new_budget()
    return find_arena(*parts, has_worlds=False, **case.settings)


CANDIDATES = (
    Candidate(
        _WHOLE,
        ("auto", "tree"),
        _why_not_whole,
        _why_whole_is_too_large,
        _expand,
    ),
    Candidate("hands of cards", ("auto", "worlds"), _why_not_hands, _fits, _list_hands),
    Candidate("worlds", ("auto", "worlds"), _why_not_worlds, _fits, _find_worlds),
    Candidate("histories", ("none",), _why_not_histories, _fits, _find_histories),
    Candidate("compiled rules", ("auto", "none"), _why_not_rules, _fits, _make_rules),
    Candidate(
        "growing tree",
        ("auto", "tree"),
        _why_not_growing,
        _fits,
        lambda case: GrowingTree(case.tree),
    ),
)
"""The arenas in the order in which they are tried."""


def arena_of(table: Any) -> Arena:
    """The arena of a table that knows all infosets: the table itself, or a view of a
    complete tree.

    Raises:
        ValueError: the table is of something else.
    """
    if isinstance(table, GameTree):
        return WholeTree(table)
    return _given_arena(table, EVALUATION, "auto")
