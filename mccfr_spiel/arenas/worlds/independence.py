"""Proof by enumeration that a game declares its worlds correctly.

A game declares worlds by `Description.world_key` (and `leaf_class`, `class_returns`,
`position_key`, `heard`). Histories are enumerated world by world, breadth first. In
each world the following must hold:

- Every private past (*entry*) of player 0 occurs with every private past of player 1,
  and the probability of each pair of pasts is a product.
- All histories of the world agree on who acts and on the world after each action.
  Terminal histories agree on the returns, or on the returns per pair of classes.
- The information of a player depends on the world and on the player's own entry only.

Then a sum over the histories of a world is a product of two sums. If the game declares
positions, a position must determine, in all worlds, who acts, the position after each
action, and the returns. The position, `heard` and the player's own past must determine
the information of the player.
"""

import collections
import itertools
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import (
    BoundRules,
)
from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.game_description import (
    CHANCE,
    SPARE,
    TERMINAL,
)

_OFF = 1e-12
"""Largest accepted error of a probability or return."""

World = tuple[int, ...]
"""Key of a world."""
Past = tuple[tuple[World, int], ...]
"""Information keys and actions of one player, in order."""


class PlayedHistory(NamedTuple):
    """A history of the game.

    Attributes:
        moves: actions of chance and players, in order.
        state: state after these moves.
        pasts: per player, the information keys at the player's decisions with the
            chosen actions.
        weight: product of the chance probabilities.
    """

    moves: tuple[int, ...]
    state: np.ndarray
    pasts: tuple[Past, Past]
    weight: float = 1.0


def check_independence(rules: BoundRules, max_histories: int) -> int:
    """Checks the declared worlds of a game, beginning at the root.

    Args:
        rules: rules with a `world_key`.
        max_histories: largest number of histories to follow.

    Returns:
        The number of worlds checked.

    Raises:
        GameError: `world_key`, `leaf_class`, `class_returns`, `position_key` or `heard`
            contradicts the rules. The message names the function and shows two
            histories that contradict each other.
    """
    checked = followed = 0
    facts: dict[Any, tuple[Any, PlayedHistory]] = {}
    worlds = {_key(rules, rules.start()): [PlayedHistory((), rules.start(), ((), ()))]}
    # Each pass of the outer loop checks the worlds at one distance from the root, and
    # collects their successors in `next_worlds`. A private move stays in the world, so
    # the longer history is appended to the list that is being read. The loop ends when
    # there are no successors, or when `max_histories` histories have been followed.
    while worlds:
        next_worlds: dict[World, list[PlayedHistory]] = {}
        for world, given in worlds.items():
            histories = list(given)
            targets: dict[tuple[Any, ...], tuple[World, PlayedHistory]] = {}
            for history in histories:  # grows by private moves
                followed += 1
                if followed > max_histories:
                    return checked
                successors = _moves_from(rules, history)
                if rules.description.position_key is not None:
                    _check_position(rules, facts, history, successors)
                for successor in successors:
                    key = _key(rules, successor.state)
                    _check_target(rules, world, targets, history, successor, key)
                    if key == world:
                        histories.append(successor)
                    else:
                        next_worlds.setdefault(key, []).append(successor)
            _check_world(rules, world, histories)
            checked += 1
        worlds = next_worlds
    return checked


def _check_target(
    rules: BoundRules,
    world: World,
    targets: dict[tuple[Any, ...], tuple[World, PlayedHistory]],
    history: PlayedHistory,
    successor: PlayedHistory,
    key: World,
) -> None:
    """Checks that a move leads from all histories of a world to the same world.

    Args:
        rules: the rules.
        world: key of the world of `history`.
        targets: per move seen so far, the key of the world after the move and the first
            history with this move; extended.
        history: a history of the world.
        successor: `history` with one more move.
        key: key of the world of `successor`.

    Raises:
        GameError: the same move led from an earlier history to another world.
    """
    action = successor.moves[-1]
    # All outcomes of a deal lead to the same world. In games with classes, the answer
    # to a move, and so the next world, may depend on the opponent's entry.
    player, move = rules.acting(history.state), (action, None)
    if player == CHANCE:
        move = CHANCE, None
    elif rules.description.leaf_class is not None:
        move = action, _entry(rules, history, 1 - player)
    target, earlier = targets.setdefault(move, (key, history))
    if target != key:
        both = f"{list(target)} and {list(key)}"
        problem = f"action {action} leads to the worlds {both}"
        _refuse(rules, world, earlier, history, problem)


def _key(rules: BoundRules, state: np.ndarray, name: str = "world_key") -> World:
    """Returns the world key of a state, or another key of the description.

    Args:
        rules: the rules.
        state: the state.
        name: `world_key` or `position_key`.

    Raises:
        GameError: the key's length is out of range.
    """
    key = np.zeros(rules.sizes.max_moves + SPARE, np.int64)
    length = getattr(rules.description, name)(rules.settings, state, key)
    if not 0 <= length <= rules.sizes.max_moves:
        raise GameError(
            f"{rules.description.short_name}: Description.{name} returns the length "
            f"{length}; expected 0 to Sizes.max_moves = {rules.sizes.max_moves}. "
            "Shorten the key or raise Sizes.max_moves."
        )
    return tuple(key[:length].tolist())


def _check_position(
    rules: BoundRules,
    facts: dict[Any, tuple[Any, PlayedHistory]],
    history: PlayedHistory,
    successors: list[PlayedHistory],
) -> None:
    """Checks that histories with the same position have the same continuations.

    Args:
        rules: rules with a `position_key`.
        facts: facts about positions (who acts, information of the player, position
            after a move), each with the value and the first history that showed it;
            extended.
        history: history in any world.
        successors: `history` followed by each of its moves.

    Raises:
        GameError: an earlier history with the same position, and the same answers where
            they matter, has other continuations.
    """

    def position_of(state: np.ndarray) -> tuple[World, list[int]]:
        heard = [rules.description.heard(rules.settings, state, p) for p in (0, 1)]
        return _key(rules, state, "position_key"), heard

    player, (position, heard) = rules.acting(history.state), position_of(history.state)
    here: dict[Any, Any] = {position: _seen(rules, history, history)}
    if player >= 0:
        view = rules.info_key(history.state, player).tolist()
        here["knows", player, history.pasts[player], heard[player]] = view
    for successor in successors:
        edge = position, heard[1 - player], successor.moves[-1]
        here["behind", *edge] = position_of(successor.state)
    for fact, value in here.items():
        expected, earlier = facts.setdefault(fact, (value, history))
        if expected != value:
            raise GameError(
                f"{rules.description.short_name}: Description.position_key and heard "
                f"are equal for the histories {list(earlier.moves)} and "
                f"{list(history.moves)}, at {position}, but {expected} and {value} "
                "follow. Return different keys or answers for these histories."
            )


def _moves_from(rules: BoundRules, history: PlayedHistory) -> list[PlayedHistory]:
    """Returns the histories that continue a history by one move; [] at the end."""
    player = rules.acting(history.state)
    if player == TERMINAL:
        return []
    moves = [(action, 1.0) for action in rules.legal_actions(history.state)]
    if player == CHANCE:
        moves = rules.chance_outcomes(history.state)
    successors = []
    for action, prob in moves:
        state = history.state.copy()
        rules.apply_action(state, action)
        pasts = list(history.pasts)
        if player != CHANCE:
            view = tuple(rules.info_key(history.state, player).tolist())
            pasts[player] = (*pasts[player], (view, action))
        successors.append(
            PlayedHistory(
                (*history.moves, action),
                state,
                (pasts[0], pasts[1]),
                history.weight * prob,
            )
        )
    return successors


def _entry(rules: BoundRules, history: PlayedHistory, player: int) -> tuple[Any, ...]:
    """Returns a player's entry: the own past, and in games with chance the current
    information key, which contains private deals.
    """
    key: World = ()
    if rules.sizes.max_chance_moves:
        key = tuple(rules.info_key(history.state, player).tolist())
    return history.pasts[player], key


def _check_world(
    rules: BoundRules, world: World, histories: list[PlayedHistory]
) -> None:
    """Checks that all histories of one world agree as the module's docstring requires.

    Raises:
        GameError: two histories of the world contradict each other.
    """
    first = histories[0]
    expected = _seen(rules, first, first)
    for other in histories[1:]:
        if (seen := _seen(rules, other, first)) != expected:
            _refuse(rules, world, first, other, f"{expected} and {seen}")
    for player in (0, 1):
        views: dict[Any, tuple[Any, PlayedHistory]] = {}
        for history in histories:
            view = _known(rules, history, player)
            entry = _entry(rules, history, player)
            expected_view, earlier = views.setdefault(entry, (view, history))
            if expected_view != view:
                problem = f"player {player} knows {expected_view} and {view} after the "
                problem += "same own moves"
                _refuse(rules, world, earlier, history, problem)
    _check_product(rules, world, histories)


def _check_product(
    rules: BoundRules, world: World, histories: list[PlayedHistory]
) -> None:
    """Checks that the probability of each pair of entries is the product of the
    probabilities of both entries.

    Raises:
        GameError: a pair of entries has a different probability.
    """
    pairs: dict[Any, float] = collections.defaultdict(float)
    sums: list[dict[Any, float]] = [collections.defaultdict(float) for _ in range(2)]
    examples: list[dict[Any, PlayedHistory]] = [{}, {}]
    for history in histories:
        pair = _entry(rules, history, 0), _entry(rules, history, 1)
        pairs[pair] += history.weight
        for player in (0, 1):
            sums[player][pair[player]] += history.weight
            examples[player][pair[player]] = history
    total = sum(pairs.values())
    for (mine, row), (theirs, column) in itertools.product(*(x.items() for x in sums)):
        # Independence means P(a, b) = P(a) P(b) for entries a and b. The weights sum to
        # `total` instead of 1, hence the factors.
        if abs(pairs.get((mine, theirs), 0.0) * total - row * column) > _OFF * total**2:
            problem = (
                "the moves of player 0 in the first and of player 1 in the second do "
                "not occur together with the product of their probabilities"
            )
            _refuse(rules, world, examples[0][mine], examples[1][theirs], problem)


def _seen(rules: BoundRules, history: PlayedHistory, other: PlayedHistory) -> str:
    """Returns a sentence about a history that must be equal for all histories of a
    world.

    It states who acts, or the returns. In games with classes, terminal worlds have
    returns per pair of classes. There the sentence states whether `class_returns`,
    computed from the state of the history `other` and the classes of `history`, equals
    the returns of `history`.
    """
    player = rules.acting(history.state)
    if player != TERMINAL:
        return f"player {player} acts"
    description, returns = rules.description, rules.returns(history.state)
    if description.leaf_class is None or rules.acting(other.state) != TERMINAL:
        return f"the game ends with the returns {returns}"
    pays, classes = np.zeros(2 + SPARE), [_class(rules, history, p) for p in (0, 1)]
    description.class_returns(rules.settings, other.state, *classes, pays)
    if np.abs(pays[:2] - returns).max() > _OFF:
        return f"class_returns gives {pays[:2].tolist()} instead of {returns}"
    return "the game ends"


def _class(rules: BoundRules, history: PlayedHistory, player: int) -> int:
    """Returns the class of a player's entry at a terminal history."""
    return rules.description.leaf_class(rules.settings, history.state, player)


def _known(rules: BoundRules, history: PlayedHistory, player: int) -> list[int]:
    """Returns a player's information key, followed by the player's class at a terminal
    history.

    The result must be equal for all histories of a world in which the player has the
    same entry.
    """
    key = rules.info_key(history.state, player).tolist()
    if rules.description.leaf_class is None or rules.acting(history.state) != TERMINAL:
        return key
    return [*key, _class(rules, history, player)]


def _refuse(
    rules: BoundRules,
    world: World,
    first: PlayedHistory,
    second: PlayedHistory,
    problem: str,
) -> None:
    """Raises GameError for two histories that contradict each other."""
    raise GameError(
        f"{rules.description.short_name}: Description.world_key gives the histories "
        f"{list(first.moves)} and {list(second.moves)} one world, {list(world)}, but "
        f"{problem}. Return different keys for these histories."
    )
