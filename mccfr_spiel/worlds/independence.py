"""Proves by enumeration that what players know in secret is independent, given a world.

All histories are followed from world to world, as far as there are not too many. At
each world on the way, of every private past of one player and every one of the other
the pair must occur, and these must be the same for all of them: who acts, and, where
the game ends, the returns. What a player knows must depend on the world and the own
past alone. Then a sum over histories at a world is a product of two sums.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.rules.description import SPARE, TERMINAL, BoundRules

World = tuple[int, ...]
Past = tuple[tuple[World, int], ...]


class History(NamedTuple):
    """A history: its moves, the state, and what each player knew and did, `[2]`."""

    moves: tuple[int, ...]
    state: np.ndarray
    pasts: tuple[Past, Past]


def check_independence(rules: BoundRules, most: int) -> int:
    """Checks the worlds of as few moves as there are at most so many histories to.

    Each pass of the loop checks the worlds that are reached by one more change of the
    world. A private move stays in the world, so its histories are those of the changes
    before and of all private moves after them.

    Returns:
        How many worlds were checked.

    Raises:
        GameError: the declaration is wrong; the message has the histories that show it.
    """
    checked = followed = 0
    worlds = {_key(rules, rules.start()): [History((), rules.start(), ((), ()))]}
    while worlds:
        behind: dict[World, list[History]] = {}
        for world, entered in worlds.items():
            inside = list(entered)
            leads: dict[int, tuple[World, History]] = {}
            for history in inside:  # to which private moves append
                followed += 1
                if followed > most:
                    return checked
                for after in _moves_from(rules, history):
                    key = _key(rules, after.state)
                    action = after.moves[-1]
                    there, first = leads.setdefault(action, (key, history))
                    if there != key:
                        what = f"action {action} leads to {list(there)} and {list(key)}"
                        _refuse(rules, world, first, history, what)
                    group = inside if key == world else behind.setdefault(key, [])
                    group.append(after)
            _check_world(rules, world, inside)
            checked += 1
        worlds = behind
    return checked


def _key(rules: BoundRules, state: np.ndarray) -> World:
    key = np.zeros(rules.sizes.max_moves + SPARE, np.int64)
    length = rules.description.world_key(rules.settings, state, key)
    if not 0 <= length <= rules.sizes.max_moves:
        raise GameError(
            f"{rules.description.short_name}: Description.world_key returns the length "
            f"{length}; it must be in 0 .. Sizes.max_moves = {rules.sizes.max_moves}."
        )
    return tuple(key[:length].tolist())


def _moves_from(rules: BoundRules, history: History) -> list[History]:
    """The histories with one more move."""
    player = rules.acting(history.state)
    if player == TERMINAL:
        return []
    found = []
    knows = tuple(rules.info_key(history.state, player).tolist())
    for action in rules.legal_actions(history.state):
        state = history.state.copy()
        rules.apply_action(state, action)
        pasts = list(history.pasts)
        pasts[player] = (*pasts[player], (knows, action))
        moves = (*history.moves, action)
        found.append(History(moves, state, (pasts[0], pasts[1])))
    return found


def _check_world(rules: BoundRules, world: World, inside: list[History]) -> None:
    """Raises GameError unless a world with these histories is as it must be."""
    one = inside[0]
    expected = _seen(rules, one)
    for other in inside[1:]:
        if (seen := _seen(rules, other)) != expected:
            _refuse(rules, world, one, other, f"{expected} and {seen}")
    for player in (0, 1):
        known: dict[Past, tuple[Any, History]] = {}
        for history in inside:
            key = tuple(rules.info_key(history.state, player).tolist())
            before, first = known.setdefault(history.pasts[player], (key, history))
            if before != key:
                what = f"player {player} knows {list(before)} and {list(key)}, though "
                what += "all own moves were the same"
                _refuse(rules, world, first, history, what)
    pairs = {history.pasts for history in inside}
    firsts = {history.pasts[0]: history for history in inside}
    seconds = {history.pasts[1]: history for history in inside}
    if len(pairs) == len(firsts) * len(seconds):
        return
    for first, second in itertools.product(firsts.values(), seconds.values()):
        if (first.pasts[0], second.pasts[1]) not in pairs:
            what = "player 0 cannot have moved as in the one while player 1 moved as "
            what += "in the other, so that their secrets are not independent"
            _refuse(rules, world, first, second, what)


def _seen(rules: BoundRules, history: History) -> str:
    """What must be the same for all histories of a world, in words."""
    player = rules.acting(history.state)
    if player == TERMINAL:
        return f"the game ends with the returns {rules.returns(history.state)}"
    return f"player {player} acts"


def _refuse(
    rules: BoundRules, world: World, one: History, other: History, what: str
) -> None:
    raise GameError(
        f"{rules.description.short_name}: Description.world_key gives the histories "
        f"{list(one.moves)} and {list(other.moves)} one world, {list(world)}, but "
        f"{what}. Let the key tell them apart."
    )
