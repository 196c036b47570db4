"""The twin of OpenSpiel's sheriff, a general-sum game about trust.

The smuggler (player 0) secretly packs some illegal items. In each round the smuggler
offers a bribe, and the sheriff announces whether to inspect; only the last round
counts. If the sheriff inspects, the smuggler pays a penalty for each item, or the
sheriff pays one if there are none. Otherwise the smuggler receives the value of the
items and pays the bribe to the sheriff.
"""

from mccfr_spiel.arenas.rules.game_description import TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import copy_range, write_range
from mccfr_spiel.arenas.rules.twins.twin import Twin

_ROUNDS, _ITEMS, _BRIBE, _VALUE, _PENALTY, _EMPTY = range(6)
"""Entries of `settings`:

_ROUNDS: number of rounds.
_ITEMS: largest number of items.
_BRIBE: largest bribe.
_VALUE: value of an item.
_PENALTY: penalty of the smuggler per item.
_EMPTY: penalty of the sheriff for an inspection without items.
"""

_COUNT, _MOVES = range(2)
"""Entries of the state:

_COUNT: number of moves.
_MOVES: `[1 + 2 rounds]` number of items, followed by bribe and answer of each round.
"""

_ANSWERS = 2
"""Number of answers of the sheriff. Actions are numbered in this order: answers,
numbers of items, bribes.
"""


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
    return write_range(actions, 0, first, first + count)


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
def _info_key(settings, state, player, key):
    return copy_range(state, _MOVES + player, _MOVES + state[_COUNT], key, 0)


@compiled
def _world_key(settings, state, key):
    """Writes whether the smuggler has packed, then the bribes and answers."""
    key[0] = int(state[_COUNT] > 0)
    return copy_range(state, _MOVES + 1, _MOVES + state[_COUNT], key, 1)


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


_TURN, _SPACE, _PACKED = map(word, ("T=", " ", "num_illegal_items:"))
_NONE, _OFFER, _ANSWER = map(word, ("none", "/bribe:", "/feedback:"))


@compiled
def _spell(settings, player, key, length, text):
    at = put(text, put_labeled(text, 0, _TURN, length + player), _SPACE)
    if player == 0:
        at = put(text, at, _PACKED)
        at = put(text, at, _NONE) if length == 0 else put_number(text, at, key[0])
    for k in range(1 - player, length):
        is_offer = (k + player) % 2 == 1
        at = put_labeled(text, at, _OFFER if is_offer else _ANSWER, key[k])
    return at


def twin(
    num_rounds: int,
    max_items: int,
    max_bribe: int,
    item_value: float,
    item_penalty: float,
    sheriff_penalty: float,
) -> Twin:
    """Builds the twin from OpenSpiel's parameters."""
    moves = 1 + 2 * num_rounds
    pays = item_value, item_penalty, sheriff_penalty
    settings = num_rounds, max_items, max_bribe, *pays
    return Twin(globals(), settings, _MOVES + moves, moves, 60 + 45 * num_rounds)
