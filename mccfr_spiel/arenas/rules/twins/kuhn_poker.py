"""The twin of OpenSpiel's kuhn_poker, for any number of players.

P players ante 1 and receive one of P + 1 cards each. They pass or bet 1 in turn. After
the first bet, each other player either passes, and is out, or bets once. The highest
card of the bettors wins the pot, or the highest of all if nobody bet.
"""

from mccfr_spiel.arenas.rules.game_description import (
    CHANCE,
    TERMINAL,
    compiled,
    write_members,
)
from mccfr_spiel.arenas.rules.spelling import put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin, copy_range

_PLAYERS = 0
"""Entry of `settings`: number of players."""

_COUNT, _BETTOR, _WINNER, _DEALT, _BETTORS, _CARDS = range(6)
"""Entries of the state:

_COUNT: number of moves, including chance.
_BETTOR: first bettor + 1.
_WINNER: winner + 1.
_DEALT: bit set of dealt cards.
_BETTORS: bit set of bettors.
_CARDS: `[P]` cards of the players, followed by `[2 P]` actions.
"""

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
    count = state[_COUNT]
    state[_CARDS + count] = action  # cards, then actions
    state[_COUNT] = count + 1
    if count < players:
        state[_DEALT] |= 1 << action
        return
    if action == _BET:
        state[_BETTORS] |= 1 << count % players
        if state[_BETTOR] == 0:
            state[_BETTOR] = count % players + 1
    if count + 1 != 2 * players + max(state[_BETTOR] - 1, 0):
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
    """Builds the twin from OpenSpiel's parameters."""
    state, key = _CARDS + 3 * players, 2 * players
    return Twin(globals(), [players], state, key, text_size=3 + 2 * players)
