"""The twin of OpenSpiel's sheriff, a game of general sum about trust.

The smuggler (player 0) packs some illegal items in secret. In each round the smuggler
offers a bribe, and the sheriff says whether to inspect; only the last round counts. An
inspection costs the smuggler a penalty for each item, or the sheriff one if there are
none. Without one the smuggler gets the items' value and the sheriff the bribe.
"""

from collections.abc import Mapping
from typing import Any

from mccfr_spiel.rules.description import TERMINAL, Sizes, compiled
from mccfr_spiel.twins.spelling import put, put_number, word
from mccfr_spiel.twins.twin import (
    Twin,
    make_twin,
)

_ROUNDS, _ITEMS, _BRIBE, _VALUE, _PENALTY, _EMPTY = range(6)  # in settings
# The state has how many moves were made, and these: the items, then by turns the bribe
# and the answer. Actions are 0 and 1 for answers, then items, then bribes.
_COUNT, _MOVES, _ANSWERS = 0, 1, 2


@compiled
def _acting(settings, state):
    if state[_COUNT] == 1 + 2 * int(settings[_ROUNDS]):
        return TERMINAL
    return int(state[_COUNT] > 0 and state[_COUNT] % 2 == 0)


@compiled
def _legal_actions(settings, state, actions):
    first, count = 0, _ANSWERS
    if state[_COUNT] == 0:
        first, count = _ANSWERS, int(settings[_ITEMS]) + 1
    elif state[_COUNT] % 2 == 1:
        first = _ANSWERS + int(settings[_ITEMS]) + 1
        count = int(settings[_BRIBE]) + 1
    for k in range(count):
        actions[k] = first + k
    return count


@compiled
def _apply_action(settings, state, action):
    count = state[_COUNT]
    if count == 0:
        action -= _ANSWERS
    elif count % 2 == 1:
        action -= _ANSWERS + int(settings[_ITEMS]) + 1
    state[_MOVES + count] = action
    state[_COUNT] = count + 1


@compiled
def _write_moves(state, first, key, length):
    """Writes the moves from one on, behind the length; returns the new length."""
    for k in range(first, state[_COUNT]):
        key[length] = state[_MOVES + k]
        length += 1
    return length


@compiled
def _info_key(settings, state, player, key):
    return _write_moves(state, player, key, 0)


@compiled
def _world_key(settings, state, key):
    """Whether items were packed, then bribes and answers."""
    key[0] = int(state[_COUNT] > 0)
    return _write_moves(state, 1, key, 1)


@compiled
def _leaf_class(settings, state, player):
    return state[_MOVES] if player == 0 else 0


@compiled
def _class_returns(settings, state, class0, class1, returns):
    answer, bribe = state[state[_COUNT]], state[state[_COUNT] - 1]
    if answer == 0:
        returns[0] = settings[_VALUE] * class0 - bribe
        returns[1] = bribe
    else:
        lost = settings[_PENALTY] * class0 if class0 > 0 else -settings[_EMPTY]
        returns[0] = -lost
        returns[1] = lost


@compiled
def _returns(settings, state, returns):
    _class_returns(settings, state, state[_MOVES], 0, returns)


_TURN, _PACKED, _NONE = word("T="), word("num_illegal_items:"), word("none")
_OFFER, _ANSWER = word("/bribe:"), word("/feedback:")


@compiled
def _spell(settings, player, key, length, text):
    at = put_number(text, put(text, 0, _TURN), length + player)
    text[at] = 32  # a space
    at += 1
    if player == 0:
        at = put(text, at, _PACKED)
        at = put(text, at, _NONE) if length == 0 else put_number(text, at, key[0])
    for k in range(1 - player, length):
        is_offer = (k + player) % 2 == 1
        at = put(text, at, _OFFER) if is_offer else put(text, at, _ANSWER)
        at = put_number(text, at, key[k])
    return at


_NUMBERS = "num_rounds", "max_items", "max_bribe"
_PAYS = "item_value", "item_penalty", "sheriff_penalty"


def twin(parameters: Mapping[str, Any]) -> Twin | None:
    """The twin for OpenSpiel's parameters."""
    if set(parameters) != {*_NUMBERS, *_PAYS}:
        return None
    rounds, items, bribe = (int(parameters[name]) for name in _NUMBERS)
    moves, most = 1 + 2 * rounds, max(items, bribe, 1) + 1
    values = {name: parameters[name] for name in (*_NUMBERS, *_PAYS)}
    return make_twin(
        "sheriff",
        globals(),
        num_players=2,
        values=values,
        sizes=Sizes(
            state=_MOVES + moves,
            num_actions=_ANSWERS + items + bribe + 2,
            max_moves=moves,
            key=(most,) * moves,
        ),
        text_size=60 + 45 * rounds,
    )
