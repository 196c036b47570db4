"""Leduc poker with R ranks and merged suits (Leduc13 of Farina, Kroer, Sandholm 2020).

The deck has two cards of each of R ranks. Both players ante 1, and one chance node
deals a card to each, by rank. Then come a round of betting, the public card, and
another round of betting. Player 0 acts first in both. Raises are of 2 in the first
round and of 4 in the second, at most two a round. A pair with the public card wins,
otherwise the higher rank; equal ranks split the pot. With three ranks the game has the
value of Leduc poker.
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

_RANKS = 0  # in settings
# The state has the private ranks + 1, the public rank + 1, the round, the raises in it,
# who acts, who folded + 1, the stakes, the number of actions in each round, and, from
# _ACTIONS on, four places for each round with the actions + 1. As outcomes of chance,
# the deal of ranks a and b is R a + b, and the public rank c is R^2 + c.
_CARD, _PUBLIC, _ROUND, _RAISES, _TURN, _FOLDED = 0, 2, 3, 4, 5, 6
_STAKE, _COUNT, _ACTIONS = 7, 9, 11
_FOLD, _CALL, _RAISE = range(3)
_MAX_RAISES = 2
_MAX_ACTIONS = 4  # in a round: check, raise, raise, call
_COPIES = 2
_OVER = 2  # the round after the last


@compiled
def _start(settings, state):
    state[_STAKE] = 1
    state[_STAKE + 1] = 1


@compiled
def _acting(settings, state):
    if state[_FOLDED] != 0 or state[_ROUND] == _OVER:
        return TERMINAL
    if state[_CARD] == 0 or (state[_ROUND] == 1 and state[_PUBLIC] == 0):
        return CHANCE
    return state[_TURN]


@compiled
def _copies_left(state, rank):
    held = int(state[_CARD] == rank + 1) + int(state[_CARD + 1] == rank + 1)
    return _COPIES - held


@compiled
def _legal_actions(settings, state, actions):
    ranks = int(settings[_RANKS])
    count = 0
    if state[_CARD] == 0:
        for deal in range(ranks * ranks):
            actions[deal] = deal
        return ranks * ranks
    if state[_ROUND] == 1 and state[_PUBLIC] == 0:
        for rank in range(ranks):
            if _copies_left(state, rank) > 0:
                actions[count] = ranks * ranks + rank
                count += 1
        return count
    if state[_STAKE] != state[_STAKE + 1]:
        actions[count] = _FOLD
        count += 1
    actions[count] = _CALL
    count += 1
    if state[_RAISES] < _MAX_RAISES:
        actions[count] = _RAISE
        count += 1
    return count


@compiled
def _chance_probs(settings, state, probs):
    ranks = int(settings[_RANKS])
    cards = _COPIES * ranks
    if state[_CARD] == 0:
        for deal in range(ranks * ranks):
            ways = 2.0 if deal // ranks == deal % ranks else 4.0
            probs[deal] = ways / (cards * (cards - 1))
        return
    count = 0
    for rank in range(ranks):
        copies = _copies_left(state, rank)
        if copies > 0:
            probs[count] = copies / (cards - 2.0)
            count += 1


@compiled
def _apply_action(settings, state, action):
    ranks = int(settings[_RANKS])
    if state[_CARD] == 0:
        state[_CARD] = action // ranks + 1
        state[_CARD + 1] = action % ranks + 1
        return
    if state[_ROUND] == 1 and state[_PUBLIC] == 0:
        state[_PUBLIC] = action - ranks * ranks + 1
        return
    round_ = state[_ROUND]
    player = state[_TURN]
    state[_ACTIONS + _MAX_ACTIONS * round_ + state[_COUNT + round_]] = action + 1
    state[_COUNT + round_] += 1
    if action == _FOLD:
        state[_FOLDED] = player + 1
        return
    state[_STAKE + player] = state[_STAKE + 1 - player]
    if action == _RAISE:
        state[_STAKE + player] += 2 * (round_ + 1)
        state[_RAISES] += 1
    state[_TURN] = 1 - player
    if action == _CALL and state[_COUNT + round_] > 1:
        state[_ROUND] += 1
        state[_RAISES] = 0
        state[_TURN] = 0


@compiled
def _info_key(settings, state, player, key):
    if state[_CARD] == 0:
        return 0
    key[0] = state[_CARD + player] - 1
    length = 1
    for k in range(_MAX_ACTIONS):
        key[1 + k] = state[_ACTIONS + k]
        if key[1 + k] > 0:
            length = 2 + k
    if state[_PUBLIC] == 0:
        return length
    public = 1 + _MAX_ACTIONS
    key[public] = state[_PUBLIC] - 1
    for k in range(state[_COUNT + 1]):
        key[public + 1 + k] = state[_ACTIONS + _MAX_ACTIONS + k]
    return public + 1 + state[_COUNT + 1]


@compiled
def _strength(settings, state, player):
    paired = state[_CARD + player] == state[_PUBLIC]
    return state[_CARD + player] + (int(settings[_RANKS]) if paired else 0)


@compiled
def _returns(settings, state, returns):
    if state[_FOLDED] != 0:
        winner = 2 - state[_FOLDED]
    else:
        first = _strength(settings, state, 0)
        second = _strength(settings, state, 1)
        if first == second:
            return
        winner = int(second > first)
    returns[winner] = state[_STAKE + 1 - winner]
    returns[1 - winner] = -returns[winner]


def _sizes(parameters):
    ranks = int(parameters["ranks"])
    betting = (3 + 1,) * _MAX_ACTIONS
    most = 1.0 + _MAX_RAISES * (2 + 4)
    return Sizes(
        state=_ACTIONS + 2 * _MAX_ACTIONS,
        num_actions=3,
        max_chance_outcomes=ranks * ranks + ranks,
        max_moves=2 * _MAX_ACTIONS,
        max_chance_moves=2,
        key=(ranks, *betting, ranks, *betting),
        min_utility=-most,
        max_utility=most,
    )


def _betting(actions):
    return "".join("-fcr"[action] for action in actions if action) or "-"


def _state_words(parameters, state):
    cards = ["?" if card == 0 else str(card - 1) for card in state[: _PUBLIC + 1]]
    first, second = state[_ACTIONS:].reshape(2, _MAX_ACTIONS)
    return (
        f"cards {cards[0]} {cards[1]} public {cards[2]} betting {_betting(first)} "
        f"{_betting(second)} stakes {state[_STAKE]} {state[_STAKE + 1]}"
    )


def _action_words(parameters, player, action):
    if player != CHANCE:
        return ("Fold", "Call", "Raise")[action]
    ranks = int(parameters["ranks"])
    if action < ranks * ranks:
        return f"Deal {action // ranks} {action % ranks}"
    return f"Public {action - ranks * ranks}"


def _info_state_words(parameters, player, key):
    if len(key) == 0:
        return "no card"
    public = 1 + _MAX_ACTIONS
    words = f"card {key[0]} betting {_betting(key[1:public])}"
    if len(key) > public:
        words += f" public {key[public]} betting {_betting(key[public + 1 :])}"
    return words


def _observation(parameters, state, player):
    ranks = int(parameters["ranks"])
    own, public = state[_CARD + player], state[_PUBLIC]
    stakes = 2 + _MAX_RAISES * (2 + 4)
    return {
        "card": (ranks, [int(own) - 1] if own else []),
        "public": (ranks, [int(public) - 1] if public else []),
        "stake_0": (stakes, [int(state[_STAKE])]),
        "stake_1": (stakes, [int(state[_STAKE + 1])]),
    }


LeducRanksGame = register(
    described(
        "python_leduc_ranks",
        "Leduc poker with R ranks",
        globals(),
        {"ranks": Parameter(3, low=2)},
    )
)
