"""The twin of OpenSpiel's tiny_bridge_2p, with and without abstracted hands.

The deck has jack, queen, king and ace of hearts and spades. Two partners receive two
cards each. In turn they pass or make a higher bid; the first pass after the first call
ends the auction. The other four cards belong to two opponents, who never bid. Both
partners receive the same return: the mean score of the last bid over the six deals of
these four cards, if all hands are played with open cards.
"""

import numpy as np

from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, word
from mccfr_spiel.arenas.rules.twins.buffers import write_range
from mccfr_spiel.arenas.rules.twins.twin import Twin

_IS_ABSTRACTED = 0
"""Entry of `settings`: 1 if hands are abstracted."""

_COUNT, _CALLS, _BID, _BIDDER, _HANDS = range(5)
"""Entries of the state:

_COUNT: number of moves, including chance.
_CALLS: bit set of the calls so far. Bits 1 to 6 are bids, bit 0 is a pass as the first
    call, and bit 7 the pass that ends the auction. Bids ascend, so the set determines
    the order of the calls.
_BID: last bid.
_BIDDER: last bidder.
_HANDS: `[2]` hands.
"""

_PASS, _HIGHEST, _END = 0, 6, 7  # bids are 1 .. 6: 1H, 1S, 1NT, 2H, 2S, 2NT
_PLAYERS, _RANKS, _CARDS, _SEATS, _NO_TRUMP = 2, 4, 8, 4, 2


_PAIRS = np.array([(high, low) for high in range(_CARDS) for low in range(high)])
"""`[28, 2]` cards of each hand. The row is the number of the chance outcome."""

_SETS = (1 << _PAIRS).sum(axis=1)
"""`[28]` hands as bit sets of cards."""

_LISTED = np.lexsort(_PAIRS.T)
"""`[28]` chance outcomes (rows of `_PAIRS`) in the order in which OpenSpiel lists them:
by the lower card. The numbers of the outcomes do not ascend.
"""


@compiled
def _acting(settings, state):
    if state[_CALLS] >> _END & 1:
        return TERMINAL
    return CHANCE if state[_COUNT] < _PLAYERS else state[_COUNT] % 2


@compiled
def _legal_actions(settings, state, actions):
    if state[_COUNT] >= _PLAYERS:
        actions[0] = _PASS
        return write_range(actions, 1, state[_BID] + 1, _HIGHEST + 1)
    count, dealt = 0, _SETS[state[_HANDS]] if state[_COUNT] == 1 else 0
    for hand in _LISTED:
        if _SETS[hand] & dealt == 0:
            actions[count] = hand
            count += 1
    return count


@compiled
def _apply_action(settings, state, action):
    count = state[_COUNT]
    state[_COUNT] = count + 1
    if count < _PLAYERS:
        state[_HANDS + count] = action
    elif action != _PASS:
        state[_CALLS] |= 1 << action
        state[_BID] = action
        state[_BIDDER] = count % 2
    else:
        state[_CALLS] |= 1 << (_PASS if count == _PLAYERS else _END)


@compiled
def _info_key(settings, state, player, key):
    if state[_COUNT] <= player:
        return 0
    hand = state[_HANDS + player]
    key[0] = _LINE_OF[hand] if settings[_IS_ABSTRACTED] != 0.0 else hand
    key[1] = state[_CALLS]
    return 2


@compiled
def _winner(played, leader, trump):
    """Returns the seat that wins a trick, in which each seat plays `played[seat]`."""
    best = leader
    for k in range(1, _SEATS):
        seat = (leader + k) % _SEATS
        card, other = played[seat], played[best]
        if card // _RANKS == other // _RANKS:
            best = seat if card > other else best
        elif card // _RANKS == trump:
            best = seat
    return best


@compiled
def _tricks(holder, leader, trump):
    """Returns the number of tricks that seats 0 and 2 win if all seats see all cards
    and play optimally.

    Each seat chooses between two cards in the first trick and has no choice in the
    second. So a play of both tricks is a number of four bits, the choices of the seats
    in order of play, with the leader's choice as the highest bit.

    Args:
        holder: `[8]` seat that holds each card.
        leader: seat that plays first.
        trump: suit of trumps, or _NO_TRUMP.
    """
    hands = np.zeros((_SEATS, 2), np.int64)
    filled = np.zeros(_SEATS, np.int64)
    for card in range(_CARDS):
        seat = holder[card]
        hands[seat, filled[seat]] = card
        filled[seat] += 1
    plays = 1 << _SEATS
    tricks = np.zeros(plays, np.int64)
    first, second = np.zeros(_SEATS, np.int64), np.zeros(_SEATS, np.int64)
    # tricks[play]: tricks of seats 0 and 2, or -1 if a seat does not follow suit.
    for play in range(plays):
        is_legal = True
        led = hands[leader, play >> _SEATS - 1 & 1] // _RANKS
        for k in range(_SEATS):
            seat = (leader + k) % _SEATS
            choice = play >> _SEATS - 1 - k & 1
            first[seat], second[seat] = hands[seat, choice], hands[seat, 1 - choice]
            could_follow = second[seat] // _RANKS == led
            if k > 0 and could_follow and first[seat] // _RANKS != led:
                is_legal = False
        winner = _winner(first, leader, trump)
        tricks[play] = int(winner % 2 == 0)
        tricks[play] += int(_winner(second, winner, trump) % 2 == 0)
        if not is_legal:
            tricks[play] = -1
    # Minimax, backwards from the last seat to the leader. Each pass of the loop
    # removes the lowest bit of the plays, the choice of one seat. Seats 0 and 2
    # maximize over it, seats 1 and 3 minimize. -1 marks choices that are not legal.
    for k in range(_SEATS - 1, -1, -1):
        is_partner = (leader + k) % 2 == 0
        plays //= 2
        for play in range(plays):
            first_value, second_value = tricks[2 * play], tricks[2 * play + 1]
            high, low = max(first_value, second_value), min(first_value, second_value)
            tricks[play] = high if is_partner or low < 0 else low
    return tricks[0]


@compiled
def _score(bid, tricks):
    needed = 1 + (bid - 1) // 3
    if tricks < needed:
        return 20 * (tricks - needed)
    score = 10 * tricks
    if needed == 2:
        score += 15 if (bid - 1) % 3 == _NO_TRUMP else 10
    return score


@compiled
def _returns(settings, state, returns):
    bid = state[_BID]
    if bid == _PASS:
        return
    holder = np.full(_CARDS, -1, np.int64)
    for player in range(_PLAYERS):
        hand = state[_HANDS + player]
        holder[_PAIRS[hand, 0]] = holder[_PAIRS[hand, 1]] = 2 * player
    left = np.zeros(4, np.int64)
    count = 0
    for card in range(_CARDS):
        if holder[card] < 0:
            left[count] = card
            count += 1
    leader = (2 * state[_BIDDER] + 3) % _SEATS
    mean = 0.0
    # The loop goes over all deals of the four remaining cards, two each for the seats
    # 1 and 3: seat 1 gets the cards i and j.
    for i in range(3):
        for j in range(i + 1, 4):
            for k in range(4):
                holder[left[k]] = 1 if k in (i, j) else 3
            tricks = _tricks(holder, leader, (bid - 1) % 3)
            mean += _score(bid, tricks) * (1.0 / 6.0)
    returns[0] = mean
    returns[1] = mean


_DEALER_0, _DEALER_1 = map(word, (" Us ", " Pd "))
_CALL_WORDS = word("Pass1H  1S  1NT 2H  2S  2NT ")
"""Names of the calls, padded to four letters each."""

_HAND_TEXTS = (
    *("SAHA", "SJHA SKHA SQHA", "SAHJ SAHK SAHQ"),
    "SJHJ SJHK SJHQ SKHJ SKHK SKHQ SQHJ SQHK SQHQ",
    *("HAHK HAHQ", "HKHJ HKHQ", "HAHJ", "HQHJ"),
    *("SASK SASQ", "SKSQ SKSJ", "SASJ", "SQSJ"),
)
_CARD_TEXTS = [suit + rank for suit in "HS" for rank in "JQKA"]
_LINE_OF = np.array(
    [
        next(k for k, text in enumerate(_HAND_TEXTS) if _CARD_TEXTS[high] + low in text)
        for high in range(_CARDS)
        for low in _CARD_TEXTS[:high]
    ]
)
"""`[28]` per hand, the index in `_HAND_TEXTS` of the abstracted hand that contains it.
"""

_LINE = max(map(len, _HAND_TEXTS))
_HAND_WORDS = word("".join(text.ljust(_LINE) for text in _HAND_TEXTS))
"""Texts of the abstracted hands, padded to `_LINE` letters each."""

_RANK_WORDS, _SUIT_WORDS = map(word, ("JQKA", "HS"))
_HYPHEN, _UNKNOWN = map(word, ("-", "??"))


@compiled
def _put_card(text, at, card):
    text[at] = _SUIT_WORDS[card // _RANKS]
    text[at + 1] = _RANK_WORDS[card % _RANKS]
    return at + 2


@compiled
def _put_padded(text, at, source, start, size):
    """Writes source[start : start + size] without trailing spaces."""
    while size > 0 and source[start + size - 1] == 32:
        size -= 1
    for k in range(size):
        text[at + k] = source[start + k]
    return at + size


@compiled
def _spell(settings, player, key, length, text):
    if length == 0:
        return put(text, 0, _UNKNOWN)
    if settings[_IS_ABSTRACTED] != 0.0:
        at = _put_padded(text, 0, _HAND_WORDS, _LINE * key[0], _LINE)
    else:
        at = _put_card(text, 0, _PAIRS[key[0], 0])
        at = _put_card(text, at, _PAIRS[key[0], 1])
    if key[1] == 0:
        return at
    at = put(text, at, _DEALER_0 if player == 0 else _DEALER_1)
    for call in range(_END + 1):
        if key[1] >> call & 1:
            at = _put_padded(text, at, _CALL_WORDS, 4 * (call % _END), 4)
            at = put(text, at, _HYPHEN)
    return at - 1


def twin(abstracted: bool) -> Twin:
    """Builds the twin from OpenSpiel's parameters."""
    text_size = _LINE + 4 + 5 * (2 + _HIGHEST)
    return Twin(globals(), [abstracted], _HANDS + _PLAYERS, 2, text_size)
