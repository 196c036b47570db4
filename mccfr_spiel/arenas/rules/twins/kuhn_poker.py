"""The twin of OpenSpiel's kuhn_poker, for any number of players.

P players ante 1 and get one of P + 1 cards. In turn they pass or bet 1; once somebody
has bet, each of the others passes (and is out) or bets, once. The highest card among
those who bet wins the pot, or among all if nobody did.
"""

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    compiled,
    write_members,
)
from mccfr_spiel.arenas.rules.kernel import put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin, copy_range

_PLAYERS = 0  # in settings
# The state has the number of moves, chance's included, the first player who bet + 1,
# the winner + 1, the sets of cards dealt and of players who have bet, the cards, and
# behind them the players' actions.
_COUNT, _BETTOR, _WINNER, _DEALT, _BETTORS, _CARDS = range(6)
_PASS, _BET = range(2)
_LETTERS = word("pb")


@compiled
def _acting(settings, state):
    players = int(settings[_PLAYERS])
    if state[_WINNER] != 0:
        return TERMINAL
    if state[_COUNT] < players:
        return CHANCE
    return state[_COUNT] % players


@compiled
def _legal_actions(settings, state, actions):
    players = int(settings[_PLAYERS])
    if state[_COUNT] >= players:
        actions[0] = _PASS
        actions[1] = _BET
        return 2
    return write_members(((2 << players) - 1) & ~state[_DEALT], actions)


@compiled
def _apply_action(settings, state, action):
    players = int(settings[_PLAYERS])
    number = state[_COUNT]
    state[_CARDS + number] = action  # the actions stand behind the cards
    state[_COUNT] = number + 1
    if number < players:
        state[_DEALT] |= 1 << action
        return
    if action == _BET:
        state[_BETTORS] |= 1 << number % players
        if state[_BETTOR] == 0:
            state[_BETTOR] = number % players + 1
    if number + 1 != 2 * players + max(state[_BETTOR] - 1, 0):
        return
    best = -1
    for player in range(players):
        is_in = state[_BETTOR] == 0 or state[_BETTORS] >> player & 1 != 0
        if is_in and state[_CARDS + player] > best:
            best = state[_CARDS + player]
            state[_WINNER] = player + 1


@compiled
def _info_key(settings, state, player, key):
    players = int(settings[_PLAYERS])
    if state[_COUNT] <= player:
        return 0
    key[0] = state[_CARDS + player]
    return copy_range(state, _CARDS + players, _CARDS + state[_COUNT], key, 1)


@compiled
def _returns(settings, state, returns):
    players = int(settings[_PLAYERS])
    pot = 0.0
    for player in range(players):
        stake = 1.0 + (state[_BETTORS] >> player & 1)
        returns[player] = -stake
        pot += stake
    returns[state[_WINNER] - 1] += pot


@compiled
def _spell(settings, player, key, length, text):
    if length == 0:
        return 0
    at = put_number(text, 0, key[0])
    for k in range(1, length):
        text[at] = _LETTERS[key[k]]
        at += 1
    return at


def twin(players: int) -> Twin:
    """The twin for OpenSpiel's parameters."""
    state, key = _CARDS + 3 * players, 2 * players
    return Twin(globals(), [players], state, key, text_size=3 + 2 * players)
