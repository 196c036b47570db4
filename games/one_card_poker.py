"""One-Card Poker (Lanctot et al. 2009): Kuhn poker with N cards.

Two players ante 1 and get one card each. Then follows Kuhn's betting with a bet of 1,
and the higher card wins. With three cards it is Kuhn poker.
"""

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    Parameter,
    Sizes,
    compiled,
    described,
)
from mccfr_spiel.arenas.rules.game import register

_CARDS = 0  # in settings
_HAND, _NUM_BETS, _BETS = 0, 2, 3  # in the state: cards + 1, then the bets
_PASS, _BET = 0, 1
_MAX_BETS = 3


@compiled
def _acting(settings, state):
    if state[_HAND + 1] == 0:
        return CHANCE
    count = state[_NUM_BETS]
    if count < 2:
        return count
    if count == 2 and state[_BETS] == _PASS and state[_BETS + 1] == _BET:
        return 0
    return TERMINAL


@compiled
def _legal_actions(settings, state, actions):
    if state[_HAND + 1] != 0:
        actions[0] = _PASS
        actions[1] = _BET
        return 2
    count = 0
    for card in range(int(settings[_CARDS])):
        if card + 1 != state[_HAND]:
            actions[count] = card
            count += 1
    return count


@compiled
def _apply_action(settings, state, action):
    if state[_HAND] == 0:
        state[_HAND] = action + 1
    elif state[_HAND + 1] == 0:
        state[_HAND + 1] = action + 1
    else:
        state[_BETS + state[_NUM_BETS]] = action
        state[_NUM_BETS] += 1


@compiled
def _info_key(settings, state, player, key):
    if state[_HAND + player] == 0:
        return 0
    key[0] = state[_HAND + player] - 1
    for k in range(state[_NUM_BETS]):
        key[1 + k] = state[_BETS + k]
    return 1 + state[_NUM_BETS]


@compiled
def _returns(settings, state, returns):
    last = state[_BETS + state[_NUM_BETS] - 1]
    before = state[_BETS + state[_NUM_BETS] - 2]
    if before == _BET and last == _PASS:  # a fold, by the one who spoke last
        winner = state[_NUM_BETS] % 2
        stake = 1.0
    else:
        winner = int(state[_HAND + 1] > state[_HAND])
        stake = 1.0 + last
    returns[winner] = stake
    returns[1 - winner] = -stake


def _sizes(parameters):
    cards = int(parameters["cards"])
    return Sizes(
        state=_BETS + _MAX_BETS,
        num_actions=2,
        max_chance_outcomes=cards,
        max_moves=_MAX_BETS,
        max_chance_moves=2,
        key=(cards, *[2] * _MAX_BETS),
        min_utility=-2.0,
        max_utility=2.0,
    )


def _betting(bets):
    return "".join("pb"[bet] for bet in bets)


def _state_words(parameters, state):
    cards = ["?" if card == 0 else str(card - 1) for card in state[_HAND:_NUM_BETS]]
    bets = state[_BETS : _BETS + state[_NUM_BETS]]
    return f"cards {cards[0]} {cards[1]} betting {_betting(bets) or '-'}"


def _action_words(parameters, player, action):
    return f"Deal {action}" if player == CHANCE else ("Pass", "Bet")[action]


def _info_state_words(parameters, player, key):
    if len(key) == 0:
        return "no card"
    return f"card {key[0]} betting {_betting(key[1:]) or '-'}"


def _observation(parameters, state, player):
    bets = state[_BETS : _BETS + state[_NUM_BETS]]
    card = state[_HAND + player]
    return {
        "card": (int(parameters["cards"]), [int(card) - 1] if card else []),
        "pot_0": (3, [1 + int(sum(bets[0::2]))]),
        "pot_1": (3, [1 + int(sum(bets[1::2]))]),
    }


OneCardPokerGame = register(
    described(
        "python_one_card_poker",
        "One-Card Poker",
        globals(),
        {"cards": Parameter(3, low=2)},
    )
)
