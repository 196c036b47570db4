"""The twin of OpenSpiel's oshi_zumo in its turn-based form.

In each turn, two players bid some of their coins without seeing the opponent's bid. The
higher bid pushes the wrestler by one field toward the opponent. A player who pushes it
off the board wins. If coins or turns run out first, the player wins who has pushed it
to the opponent's side; in the version "alesia" nobody wins.
"""

from mccfr_spiel.arenas.rules.game_description import TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import copy_range, write_range
from mccfr_spiel.arenas.rules.twins.twin import Twin

_COINS, _SIZE, _HORIZON, _MIN_BID, _IS_ALESIA = range(5)
"""Entries of `settings`:

_COINS: coins per player.
_SIZE: fields on each side of the middle.
_HORIZON: largest number of turns.
_MIN_BID: smallest bid.
_IS_ALESIA: 1 in the version "alesia".
"""

_TURN, _HAS_BID, _BID, _FIELD, _LEFT, _BIDS = 0, 1, 2, 3, 4, 6
"""Entries of the state:

_TURN: turns played.
_HAS_BID: 1 if player 0 has bid in this turn.
_BID: this bid.
_FIELD: field of the wrestler, 0 in the middle, positive on player 1's side.
_LEFT: `[2]` coins that each player has left.
_BIDS: `[turns]` per turn, (bid of player 0) * (coins + 1) + (bid of player 1).
"""


@compiled
def _start(settings, state):
    state[_LEFT] = int(settings[_COINS])
    state[_LEFT + 1] = int(settings[_COINS])


@compiled
def _acting(settings, state):
    is_off = abs(state[_FIELD]) > int(settings[_SIZE])
    has_coins = state[_LEFT] + state[_LEFT + 1] > 0
    if is_off or not has_coins or state[_TURN] >= int(settings[_HORIZON]):
        return TERMINAL
    return state[_HAS_BID]


@compiled
def _legal_actions(settings, state, actions):
    left = state[_LEFT + state[_HAS_BID]]
    return write_range(actions, 0, min(int(settings[_MIN_BID]), left), left + 1)


@compiled
def _apply_action(settings, state, action):
    if state[_HAS_BID] == 0:
        state[_HAS_BID] = 1
        state[_BID] = action
        return
    first = state[_BID]
    state[_HAS_BID] = 0
    state[_BID] = 0
    state[_LEFT] -= first
    state[_LEFT + 1] -= action
    state[_FIELD] += int(first > action) - int(first < action)
    state[_BIDS + state[_TURN]] = first * (int(settings[_COINS]) + 1) + action
    state[_TURN] += 1


@compiled
def _info_key(settings, state, player, key):
    return copy_range(state, _BIDS, _BIDS + state[_TURN], key, 0)


@compiled
def _returns(settings, state, returns):
    field, is_alesia = state[_FIELD], settings[_IS_ALESIA] != 0.0
    if field == 0 or (is_alesia and abs(field) <= int(settings[_SIZE])):
        return
    returns[0] = 1.0 if field > 0 else -1.0
    returns[1] = -returns[0]


_CURRENT, _NEWLINE, _COMMA = map(word, ("Current player: ", "\n", ", "))


@compiled
def _spell(settings, player, key, length, text):
    num_bids = int(settings[_COINS]) + 1
    at = put(text, put_labeled(text, 0, _CURRENT, player), _NEWLINE)
    for turn in range(length):
        if turn > 0:
            at = put(text, at, _COMMA)
        at = put_number(text, at, key[turn] // num_bids)
        at = put_labeled(text, at, _COMMA, key[turn] % num_bids)
    return at


_MAX_COINS = 255
"""Largest number of coins: both bids of a turn must fit a number below 2^16."""

_MAX_TURNS = 1000


def twin(
    alesia: bool, coins: int, size: int, horizon: int, min_bid: int
) -> Twin | None:
    """Builds the twin from OpenSpiel's parameters.

    Returns None for more than 255 coins or 1,000 turns.
    """
    if not 1 <= coins <= _MAX_COINS or not 1 <= horizon <= _MAX_TURNS or size < 0:
        return None
    settings = coins, size, horizon, min_bid, alesia
    return Twin(globals(), settings, _BIDS + horizon, horizon, 20 + 10 * horizon)
