"""The twin of OpenSpiel's oshi_zumo in its turn-based form.

Two players bid some of their coins in each turn, without seeing the other's bid. The
higher bid pushes the wrestler by one place toward the other player. Who pushes it off
the board wins; when the coins or the turns are over, the one on whose opponent's side
it stands wins, or in the version "alesia" nobody.
"""

from mccfr_spiel.arenas.rules.description import TERMINAL, compiled
from mccfr_spiel.arenas.rules.kernel import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin, copy_range, write_range

_COINS, _SIZE, _HORIZON, _LEAST, _IS_ALESIA = range(5)  # in settings
# The state has the turns played, whether player 0 has bid in this turn and what, how
# far the wrestler is from the middle, and each player's coins; then each turn's bids,
# as one number.
_TURN, _HAS_BID, _BID, _PLACE, _LEFT, _BIDS = 0, 1, 2, 3, 4, 6


@compiled
def _start(settings, state):
    state[_LEFT] = int(settings[_COINS])
    state[_LEFT + 1] = int(settings[_COINS])


@compiled
def _acting(settings, state):
    is_off = abs(state[_PLACE]) > int(settings[_SIZE])
    has_coins = state[_LEFT] + state[_LEFT + 1] > 0
    if is_off or not has_coins or state[_TURN] >= int(settings[_HORIZON]):
        return TERMINAL
    return state[_HAS_BID]


@compiled
def _legal_actions(settings, state, actions):
    left = state[_LEFT + state[_HAS_BID]]
    return write_range(actions, 0, min(int(settings[_LEAST]), left), left + 1)


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
    state[_PLACE] += int(first > action) - int(first < action)
    state[_BIDS + state[_TURN]] = first * (int(settings[_COINS]) + 1) + action
    state[_TURN] += 1


@compiled
def _info_key(settings, state, player, key):
    return copy_range(state, _BIDS, _BIDS + state[_TURN], key, 0)


@compiled
def _returns(settings, state, returns):
    place, is_alesia = state[_PLACE], settings[_IS_ALESIA] != 0.0
    if place == 0 or (is_alesia and abs(place) <= int(settings[_SIZE])):
        return
    returns[0] = 1.0 if place > 0 else -1.0
    returns[1] = -returns[0]


_CURRENT, _NEWLINE, _COMMA = map(word, ("Current player: ", "\n", ", "))


@compiled
def _spell(settings, player, key, length, text):
    each = int(settings[_COINS]) + 1
    at = put(text, put_labeled(text, 0, _CURRENT, player), _NEWLINE)
    for turn in range(length):
        if turn > 0:
            at = put(text, at, _COMMA)
        at = put_number(text, at, key[turn] // each)
        at = put_labeled(text, at, _COMMA, key[turn] % each)
    return at


_MOST_COINS = 255
"""Both bids of a turn must fit one number below 2^16."""

_MOST_TURNS = 1000


def twin(
    alesia: bool, coins: int, size: int, horizon: int, min_bid: int
) -> Twin | None:
    """The twin for OpenSpiel's parameters, up to 255 coins and 1,000 turns."""
    if not 1 <= coins <= _MOST_COINS or not 1 <= horizon <= _MOST_TURNS or size < 0:
        return None
    settings = coins, size, horizon, min_bid, alesia
    return Twin(globals(), settings, _BIDS + horizon, horizon, 20 + 10 * horizon)
