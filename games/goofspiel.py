"""Goofspiel, with the last, forced bids played as moves.

Two players hold cards 1 .. N. In each round the next prize is laid open and both bid a
card: first player 0, then player 1 without seeing that bid. The higher bid wins the
prize's value; after a tie nobody gets it. OpenSpiel's goofspiel makes the last bids by
itself, but in the papers they are moves, so this file has the papers' game.

- Lanctot et al. 2009 use the default parameters. The prizes have a fixed order, only
  win, loss or tie is announced after each round, and whoever has more points wins.
- Farina, Kroer, Sandholm 2020 use `points_order=random,imp_info=False,
  returns_type=point_difference`. Chance shuffles the prizes, and bids are revealed.
"""

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    Parameter,
    Sizes,
    compiled,
    described,
    write_members,
)
from mccfr_spiel.arenas.rules.game import register

_CARDS, _IMP_INFO, _ORDER, _RETURNS = range(4)  # in settings
_ORDERS = ("random", "descending", "ascending")
_RANDOM, _DESCENDING, _ = range(3)
_RETURNS_TYPES = ("win_loss", "point_difference")
_WIN_LOSS = 0
# The state has the number of bids made, the number of prizes laid open, the hands and
# the deck as sets of bits, and the points; then the prizes (N entries) and each
# player's bids (N entries each), as cards 1 .. N.
_BIDS, _OPEN, _HAND, _DECK, _POINTS, _PRIZES = 0, 1, 2, 4, 5, 7
_MAX_CARDS = 60  # a hand is a set of bits in one integer


@compiled
def _start(settings, state):
    cards = int(settings[_CARDS])
    everything = (1 << cards) - 1
    state[_HAND] = everything
    state[_HAND + 1] = everything
    if settings[_ORDER] == _RANDOM:
        state[_DECK] = everything
        return
    state[_OPEN] = cards
    for k in range(cards):
        state[_PRIZES + k] = cards - k if settings[_ORDER] == _DESCENDING else k + 1


@compiled
def _acting(settings, state):
    if state[_BIDS] == 2 * int(settings[_CARDS]):
        return TERMINAL
    if state[_OPEN] <= state[_BIDS] // 2:
        return CHANCE
    return state[_BIDS] % 2


@compiled
def _legal_actions(settings, state, actions):
    if state[_OPEN] <= state[_BIDS] // 2:
        return write_members(state[_DECK], actions)
    return write_members(state[_HAND + state[_BIDS] % 2], actions)


@compiled
def _show_prize(state, prize):
    state[_PRIZES + state[_OPEN]] = prize + 1
    state[_DECK] ^= 1 << prize
    state[_OPEN] += 1


@compiled
def _bid_place(settings, player, turn):
    """Where a bid is in the state."""
    return _PRIZES + int(settings[_CARDS]) * (1 + player) + turn


@compiled
def _apply_action(settings, state, action):
    turn = state[_BIDS] // 2
    if state[_OPEN] <= turn:
        _show_prize(state, action)
        return
    player = state[_BIDS] % 2
    state[_bid_place(settings, player, turn)] = action + 1
    state[_HAND + player] ^= 1 << action
    state[_BIDS] += 1
    if player == 0:
        return
    first = state[_bid_place(settings, 0, turn)]
    if first != action + 1:
        state[_POINTS + int(first < action + 1)] += state[_PRIZES + turn]
    if state[_DECK] != 0 and state[_DECK] & (state[_DECK] - 1) == 0:  # one prize left
        prize = 0
        while state[_DECK] >> prize != 1:
            prize += 1
        _show_prize(state, prize)


@compiled
def _info_key(settings, state, player, key):
    length = 0
    for turn in range(int(settings[_CARDS])):
        if settings[_ORDER] == _RANDOM:
            if turn >= state[_OPEN]:
                break
            key[length] = state[_PRIZES + turn] - 1
            length += 1
        own = state[_bid_place(settings, player, turn)]
        if own == 0:
            break
        key[length] = own - 1
        length += 1
        if state[_BIDS] < 2 * turn + 2:
            break
        other = state[_bid_place(settings, 1 - player, turn)]
        if settings[_IMP_INFO] != 0.0:
            key[length] = 1 + int(own > other) - int(own < other)
        else:
            key[length] = other - 1
        length += 1
    return length


@compiled
def _returns(settings, state, returns):
    lead = float(state[_POINTS] - state[_POINTS + 1])
    if settings[_RETURNS] == _WIN_LOSS:
        lead = float(int(lead > 0.0) - int(lead < 0.0))
    returns[0] = lead
    returns[1] = -lead


def _sizes(parameters):
    cards = int(parameters["num_cards"])
    is_random = parameters["points_order"] == "random"
    seen = (cards, 3 if parameters["imp_info"] else cards)
    most = 1.0
    if parameters["returns_type"] == "point_difference":
        # Each bid beats the other's next lower one, for every prize but the 1.
        most = float(cards * (cards + 1) // 2 - 2)
    return Sizes(
        state=_PRIZES + 3 * cards,
        num_actions=cards,
        max_chance_outcomes=cards if is_random else 0,
        max_moves=2 * cards,
        max_chance_moves=cards - 1 if is_random else 0,
        key=((cards, *seen) if is_random else seen) * cards,
        min_utility=-most,
        max_utility=most,
    )


def _state_words(parameters, state):
    cards = int(parameters["num_cards"])
    shown = state[_PRIZES:].reshape(3, cards)
    names = ("prizes", "player 0", "player 1")
    rows = [
        f"{name:<9}" + " ".join(f"{card or '.':>2}" for card in row)
        for name, row in zip(names, shown, strict=True)
    ]
    return "\n".join([*rows, f"points {state[_POINTS]} : {state[_POINTS + 1]}"])


def _action_words(parameters, player, action):
    return f"{'Prize' if player == CHANCE else 'Bid'} {action + 1}"


def _info_state_words(parameters, player, key):
    cards = int(parameters["num_cards"])
    is_random = parameters["points_order"] == "random"
    stride = 3 if is_random else 2
    rounds = []
    for start in range(0, stride * cards, stride):
        known = [int(k) for k in key[start : start + stride]]
        turn = start // stride
        if not is_random:
            is_descending = parameters["points_order"] == "descending"
            known.insert(0, cards - 1 - turn if is_descending else turn)
        if not known:
            break
        words = f"prize {known[0] + 1}"
        if len(known) > 1:
            words += f" bid {known[1] + 1}"
        if len(known) > 2:
            if parameters["imp_info"]:
                words += (" lost", " tied", " won")[known[2]]
            else:
                words += f" against {known[2] + 1}"
        rounds.append(words)
        if len(known) < 3:
            break
    return ", ".join(rounds) or "no prize"


def _observation(parameters, state, player):
    cards = int(parameters["num_cards"])
    turn = state[_BIDS] // 2
    prize = state[_PRIZES + turn] if turn < cards else 0
    hand = [card for card in range(cards) if state[_HAND + player] >> card & 1]
    points = cards * (cards + 1) // 2 + 1
    return {
        "prize": (cards, [int(prize) - 1] if prize else []),
        "hand": (cards, hand),
        "points_0": (points, [int(state[_POINTS])]),
        "points_1": (points, [int(state[_POINTS + 1])]),
    }


GoofspielGame = register(
    described(
        "python_goofspiel",
        "Goofspiel with forced bids",
        globals(),
        {
            "num_cards": Parameter(4, low=2, high=_MAX_CARDS),
            "imp_info": Parameter(True),
            "points_order": Parameter("descending", choices=_ORDERS),
            "returns_type": Parameter("win_loss", choices=_RETURNS_TYPES),
        },
    )
)
