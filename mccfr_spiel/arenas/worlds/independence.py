"""Proof by enumeration that a game declares its worlds correctly."""

import collections
import itertools
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    SPARE,
    TERMINAL,
    BoundRules,
    GameError,
)

_OFF = 1e-12

World = tuple[int, ...]
Past = tuple[tuple[World, int], ...]


class PlayedHistory(NamedTuple):
    """A history: its moves, the state, what each player knew and did, `[2]`, and the
    probability of the deals."""

    moves: tuple[int, ...]
    state: np.ndarray
    pasts: tuple[Past, Past]
    weight: float = 1.0


def check_independence(rules: BoundRules, most: int) -> int:
    """Checks the worlds nearest to the root, following at most `most` histories.

    Each pass of the loop checks the worlds that are reached by one more change of the
    world. A private move stays in the world, so its histories are those of the changes
    before and of all private moves after them.

    Returns:
        How many worlds were checked.

    Raises:
        GameError: the declaration is wrong; the message has the histories that show it.
    """
    checked = followed = 0
    told: dict[Any, tuple[Any, PlayedHistory]] = {}
    worlds = {_key(rules, rules.start()): [PlayedHistory((), rules.start(), ((), ()))]}
    while worlds:
        behind: dict[World, list[PlayedHistory]] = {}
        for world, entered in worlds.items():
            inside = list(entered)
            leads: dict[tuple[Any, ...], tuple[World, PlayedHistory]] = {}
            for history in inside:  # to which private moves append
                followed += 1
                if followed > most:
                    return checked
                afters = _moves_from(rules, history)
                if rules.description.position_key is not None:
                    _check_position(rules, told, history, afters)
                for after in afters:
                    key = _key(rules, after.state)
                    action = after.moves[-1]
                    # All deals lead to one world. An answer to a move may depend on
                    # the entry of who does not act, if there are classes.
                    player, move = rules.acting(history.state), (action, None)
                    if player == CHANCE:
                        move = CHANCE, None
                    elif rules.description.leaf_class is not None:
                        move = action, _entry(rules, history, 1 - player)
                    there, first = leads.setdefault(move, (key, history))
                    if there != key:
                        what = f"action {action} leads to {list(there)} and {list(key)}"
                        _refuse(rules, world, first, history, what)
                    group = inside if key == world else behind.setdefault(key, [])
                    group.append(after)
            _check_world(rules, world, inside)
            checked += 1
        worlds = behind
    return checked


def _key(rules: BoundRules, state: np.ndarray, name: str = "world_key") -> World:
    key = np.zeros(rules.sizes.max_moves + SPARE, np.int64)
    length = getattr(rules.description, name)(rules.settings, state, key)
    if not 0 <= length <= rules.sizes.max_moves:
        raise GameError(
            f"{rules.description.short_name}: Description.{name} returns the length "
            f"{length}; it must be in 0 .. Sizes.max_moves = {rules.sizes.max_moves}."
        )
    return tuple(key[:length].tolist())


def _check_position(
    rules: BoundRules,
    told: dict[Any, tuple[Any, PlayedHistory]],
    history: PlayedHistory,
    afters: list[PlayedHistory],
) -> None:
    """Raises GameError unless a position tells what follows, as it did before.

    Args:
        rules: with a `position_key`.
        told: what positions told so far, and by which history; is extended.
        history: the history, in any world.
        afters: those with one more move.
    """

    def place(state: np.ndarray) -> tuple[World, list[int]]:
        heard = [rules.description.heard(rules.settings, state, p) for p in (0, 1)]
        return _key(rules, state, "position_key"), heard

    player, (position, heard) = rules.acting(history.state), place(history.state)
    facts: dict[Any, Any] = {position: _seen(rules, history, history)}
    if player >= 0:
        knows = rules.info_key(history.state, player).tolist()
        facts["knows", player, history.pasts[player], heard[player]] = knows
    for after in afters:
        behind = position, heard[1 - player], after.moves[-1]
        facts["behind", *behind] = place(after.state)
    for fact, value in facts.items():
        before, first = told.setdefault(fact, (value, history))
        if before != value:
            raise GameError(
                f"{rules.description.short_name}: Description.position_key and heard "
                f"make no difference between the histories {list(first.moves)} and "
                f"{list(history.moves)}, at {position}, but {before} and {value} "
                "follow. Let them tell the two apart."
            )


def _moves_from(rules: BoundRules, history: PlayedHistory) -> list[PlayedHistory]:
    """The histories with one more move."""
    player = rules.acting(history.state)
    if player == TERMINAL:
        return []
    moves = [(action, 1.0) for action in rules.legal_actions(history.state)]
    if player == CHANCE:
        moves = rules.chance_outcomes(history.state)
    found = []
    for action, prob in moves:
        state = history.state.copy()
        rules.apply_action(state, action)
        pasts = list(history.pasts)
        if player != CHANCE:
            knows = tuple(rules.info_key(history.state, player).tolist())
            pasts[player] = (*pasts[player], (knows, action))
        found.append(
            PlayedHistory(
                (*history.moves, action),
                state,
                (pasts[0], pasts[1]),
                history.weight * prob,
            )
        )
    return found


def _entry(rules: BoundRules, history: PlayedHistory, player: int) -> tuple[Any, ...]:
    """What a player did, and knows by deals."""
    key: World = ()
    if rules.sizes.max_chance_moves:
        key = tuple(rules.info_key(history.state, player).tolist())
    return history.pasts[player], key


def _check_world(rules: BoundRules, world: World, inside: list[PlayedHistory]) -> None:
    """Raises GameError unless a world with these histories is as it must be."""
    one = inside[0]
    expected = _seen(rules, one, one)
    for other in inside[1:]:
        if (seen := _seen(rules, other, one)) != expected:
            _refuse(rules, world, one, other, f"{expected} and {seen}")
    for player in (0, 1):
        known: dict[Any, tuple[Any, PlayedHistory]] = {}
        for history in inside:
            found = _known(rules, history, player)
            entry = _entry(rules, history, player)
            before, first = known.setdefault(entry, (found, history))
            if before != found:
                what = f"player {player} knows {before} and {found}, though "
                what += "all own moves were the same"
                _refuse(rules, world, first, history, what)
    _check_product(rules, world, inside)


def _check_product(
    rules: BoundRules, world: World, inside: list[PlayedHistory]
) -> None:
    """Raises GameError unless the weights of all pairs of entries are a product."""
    pairs: dict[Any, float] = collections.defaultdict(float)
    sums: list[dict[Any, float]] = [collections.defaultdict(float) for _ in range(2)]
    firsts: list[dict[Any, PlayedHistory]] = [{}, {}]
    for history in inside:
        pair = _entry(rules, history, 0), _entry(rules, history, 1)
        pairs[pair] += history.weight
        for player in (0, 1):
            sums[player][pair[player]] += history.weight
            firsts[player][pair[player]] = history
    total = sum(pairs.values())
    for (one, row), (other, column) in itertools.product(*(x.items() for x in sums)):
        if abs(pairs.get((one, other), 0.0) * total - row * column) > _OFF * total**2:
            what = "player 0 does not have moved as in the one, while player 1 has as "
            what += "in the other, with the product of the probabilities, so that "
            what += "their secrets are not independent"
            _refuse(rules, world, firsts[0][one], firsts[1][other], what)


def _seen(rules: BoundRules, history: PlayedHistory, other: PlayedHistory) -> str:
    """What must be the same for all histories of a world, in words.

    Where returns depend on classes, it must be so that those of two classes are the
    same in the state of any `other` history.
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
        return f"class_returns gives {pays[:2].tolist()} in place of {returns}"
    return "the game ends"


def _class(rules: BoundRules, history: PlayedHistory, player: int) -> int:
    return rules.description.leaf_class(rules.settings, history.state, player)


def _known(rules: BoundRules, history: PlayedHistory, player: int) -> list[int]:
    """What must be the same for all histories with an entry: what the player knows and
    the class."""
    key = rules.info_key(history.state, player).tolist()
    if rules.description.leaf_class is None or rules.acting(history.state) != TERMINAL:
        return key
    return [*key, _class(rules, history, player)]


def _refuse(
    rules: BoundRules, world: World, one: PlayedHistory, other: PlayedHistory, what: str
) -> None:
    raise GameError(
        f"{rules.description.short_name}: Description.world_key gives the histories "
        f"{list(one.moves)} and {list(other.moves)} one world, {list(world)}, but "
        f"{what}. Let the key tell them apart."
    )
