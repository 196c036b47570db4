"""The twin of OpenSpiel's goofspiel in its turn-based form.

Each player has the cards 1 .. K. In each turn a point card is shown, and each player
bids one of the own cards. The highest bid wins the points of the point card; in a tie
nobody gets them. The players bid one after another, but do not see the others' bids of
the turn. A turn in which each player has one card left is played automatically. With
perfect information all players see all hands, otherwise only the winner of each turn.
"""

from mccfr_spiel.arenas.rules.game_description import (
    CHANCE,
    TERMINAL,
    compiled,
    write_members,
)
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import copy_range
from mccfr_spiel.arenas.rules.twins.twin import Twin

_PLAYERS, _CARDS, _TURNS, _ORDER, _HIDES, _PAYS = range(6)
"""Entries of `settings`:

_PLAYERS: number of players.
_CARDS: cards per player.
_TURNS: number of turns.
_ORDER: index of the point order in `_ORDERS`.
_HIDES: 1 if hands are hidden.
_PAYS: index of the returns in `_RETURNS`.
"""

_ORDERS = ("random", "ascending", "descending")
_RETURNS = ("win_loss", "point_difference", "total_points")
_ASCENDING, _DESCENDING = 1, 2
_WIN_LOSS, _DIFFERENCE = 0, 1

_TURN, _BIDS, _SHOWN, _SHOWN_SET, _OF_PLAYERS = range(5)
"""Entries of the state:

_TURN: number of finished turns.
_BIDS: number of bids made in this turn.
_SHOWN: number of point cards shown.
_SHOWN_SET: bit set of the shown point cards.
_OF_PLAYERS: `[P]` points, `[P]` bit sets of hands, and `[P]` bids of this turn; then
for
    each turn the point card, the winner + 1 (0 for a tie) and `[P]` bids, see
    `_turn_at`.
"""

_NOBODY = -3  # OpenSpiel's number for a tie
# A finished turn in a key: point card << 8 | (winner + 1) << 4 | the player's bid.
_CARD_BITS, _WINNER_BITS = 8, 4
_LOW = 15  # mask of four bits


@compiled
def _turn_at(settings, turn):
    """Returns the index in the state of the record of a turn."""
    players = int(settings[_PLAYERS])
    return _OF_PLAYERS + 3 * players + turn * (players + 2)


@compiled
def _show(settings, state, card):
    state[_turn_at(settings, state[_SHOWN])] = card
    state[_SHOWN] += 1
    state[_SHOWN_SET] |= 1 << card


@compiled
def _show_next(settings, state):
    """Shows the next point card if their order is fixed."""
    if settings[_ORDER] == _ASCENDING:
        _show(settings, state, state[_SHOWN])
    elif settings[_ORDER] == _DESCENDING:
        _show(settings, state, int(settings[_CARDS]) - 1 - state[_SHOWN])


@compiled
def _start(settings, state):
    players = int(settings[_PLAYERS])
    for player in range(players):
        state[_OF_PLAYERS + players + player] = (1 << int(settings[_CARDS])) - 1
    _show_next(settings, state)


@compiled
def _acting(settings, state):
    if state[_TURN] == int(settings[_TURNS]):
        return TERMINAL
    if state[_SHOWN] == state[_TURN]:
        return CHANCE
    return state[_BIDS]


@compiled
def _legal_actions(settings, state, actions):
    if state[_SHOWN] == state[_TURN]:
        hidden = ((1 << int(settings[_CARDS])) - 1) & ~state[_SHOWN_SET]
        return write_members(hidden, actions)
    hands = _OF_PLAYERS + int(settings[_PLAYERS])
    return write_members(state[hands + state[_BIDS]], actions)


@compiled
def _end_turn(settings, state):
    """Awards the point card to the highest bid."""
    players = int(settings[_PLAYERS])
    best, winner = -1, -1
    record = _turn_at(settings, state[_TURN])
    for player in range(players):
        bid = state[_OF_PLAYERS + 2 * players + player]
        state[record + 2 + player] = bid
        state[_OF_PLAYERS + players + player] &= ~(1 << bid)
        if bid > best:
            best, winner = bid, player
        elif bid == best:
            winner = -1
    if winner >= 0:
        state[_OF_PLAYERS + winner] += state[record] + 1
    state[record + 1] = winner + 1
    state[_TURN] += 1
    state[_BIDS] = 0
    if state[_TURN] < int(settings[_TURNS]):
        _show_next(settings, state)


@compiled
def _only_card(left):
    """Returns the only card in a bit set."""
    card = 0
    while left >> card != 1:
        card += 1
    return card


@compiled
def _apply_action(settings, state, action):
    players = int(settings[_PLAYERS])
    cards = int(settings[_CARDS])
    if state[_SHOWN] == state[_TURN]:
        _show(settings, state, action)
        return
    state[_OF_PLAYERS + 2 * players + state[_BIDS]] = action
    state[_BIDS] += 1
    if state[_BIDS] < players:
        return
    _end_turn(settings, state)
    if state[_TURN] != cards - 1 or state[_TURN] == int(settings[_TURNS]):
        return
    if state[_SHOWN] == state[_TURN]:
        left = ((1 << cards) - 1) & ~state[_SHOWN_SET]
        _show(settings, state, _only_card(left))
    for player in range(players):
        hand = state[_OF_PLAYERS + players + player]
        state[_OF_PLAYERS + 2 * players + player] = _only_card(hand)
    _end_turn(settings, state)


@compiled
def _info_key(settings, state, player, key):
    """Writes all hands (if players see them), then a number per point card shown.

    The number is the point card. In finished turns it also contains the winner and, if
    hands are hidden, the player's own bid, see _CARD_BITS.
    """
    players = int(settings[_PLAYERS])
    hides = settings[_HIDES] != 0.0
    length = 0
    if not hides:
        hands = _OF_PLAYERS + players
        length = copy_range(state, hands, hands + players, key, 0)
    for turn in range(state[_SHOWN]):
        record = _turn_at(settings, turn)
        entry = state[record]
        if turn < state[_TURN]:
            entry = (state[record] << _CARD_BITS) | (state[record + 1] << _WINNER_BITS)
            if hides:
                entry |= state[record + 2 + player]
        key[length] = entry
        length += 1
    if state[_SHOWN] == state[_TURN]:  # not a decision of the player
        key[length] = int(settings[_CARDS])
        length += 1
    return length


@compiled
def _returns(settings, state, returns):
    players = int(settings[_PLAYERS])
    pays = int(settings[_PAYS])
    best, winners, total = -1, 0, 0.0
    for player in range(players):
        points = state[_OF_PLAYERS + player]
        returns[player] = points
        total += points
        if points > best:
            best, winners = points, 0
        winners += int(points == best)
    for player in range(players):
        points = state[_OF_PLAYERS + player]
        if pays == _DIFFERENCE:
            returns[player] -= total / players
        elif pays == _WIN_LOSS:
            if winners == players:
                returns[player] = 0.0
            elif points == best:
                returns[player] = 1.0 / winners
            else:
                returns[player] = -1.0 / (players - winners)


_CURRENT, _HAND, _P = map(word, ("Current player: ", " hand: ", "P"))
_BID_SEQUENCE, _CARD_SEQUENCE = map(
    word, (" action sequence: ", "Point card sequence: ")
)
_WINNERS, _POINTS = map(word, ("Win sequence: ", "Points: "))
_NOT_OVER, _SPACE, _NEWLINE = map(word, ("Terminal?: 0\n", " ", "\n"))


@compiled
def _put_hand(settings, text, at, player, hand):
    at = put(text, put_labeled(text, at, _P, player), _HAND)
    for card in range(int(settings[_CARDS])):
        if hand >> card & 1:
            at = put(text, put_number(text, at, card + 1), _SPACE)
    return put(text, at, _NEWLINE)


@compiled
def _put_own(settings, text, at, player, key, length):
    """Writes the player's own hand and bids to the text; used if hands are hidden."""
    cards = int(settings[_CARDS])
    hand = (1 << cards) - 1
    for k in range(length - 1):
        hand &= ~(1 << (key[k] & _LOW))
    at = _put_hand(settings, text, at, player, hand)
    at = put(text, put_labeled(text, at, _P, player), _BID_SEQUENCE)
    for k in range(length - 1):
        at = put(text, put_number(text, at, (key[k] & _LOW)), _SPACE)
    return put(text, at, _NEWLINE)


@compiled
def _put_points(settings, text, at, key, first, length):
    at = put(text, at, _POINTS)
    for player in range(int(settings[_PLAYERS])):
        points = 0
        for k in range(first, length - 1):
            if key[k] >> _WINNER_BITS & _LOW == player + 1:
                points += (key[k] >> _CARD_BITS) + 1
        at = put(text, put_number(text, at, points), _SPACE)
    return put(text, at, _NEWLINE)


@compiled
def _spell(settings, player, key, length, text):
    hides = settings[_HIDES] != 0.0
    first = 0 if hides else int(settings[_PLAYERS])
    at = put(text, put_labeled(text, 0, _CURRENT, player), _NEWLINE)
    if hides:
        at = _put_own(settings, text, at, player, key, length)
    at = put(text, at, _CARD_SEQUENCE)
    for k in range(first, length):
        card = key[k] >> _CARD_BITS if k < length - 1 else key[k]
        at = put_number(text, at, card + 1)
        at = put(text, at, _SPACE)
    at = put(text, at, _NEWLINE)
    if not hides:
        for other in range(first):
            at = _put_hand(settings, text, at, other, key[other])
    at = put(text, at, _WINNERS)
    for k in range(first, length - 1):
        winner = key[k] >> _WINNER_BITS & _LOW
        at = put_number(text, at, winner - 1 if winner > 0 else _NOBODY)
        at = put(text, at, _SPACE)
    at = put(text, at, _NEWLINE)
    at = _put_points(settings, text, at, key, first, length)
    if hides:
        at = put(text, at, _NOT_OVER)
    return at


_MAX_CARDS = 16
"""Largest number of cards: a hand is a set of 16 bits, and a bid has 4 bits in a key.
"""


def twin(
    egocentric: bool,
    imp_info: bool,
    num_cards: int,
    num_turns: int,
    players: int,
    points_order: str,
    returns_type: str,
) -> Twin | None:
    """Builds the twin from OpenSpiel's parameters, for 2 to 16 cards.

    Returns None for other numbers of cards, and if the number of turns is one less than
    the number of cards, because OpenSpiel's game then continues after its end.
    `egocentric` affects only tensors and is ignored.
    """
    turns = num_cards if num_turns == -1 else num_turns
    is_covered = 2 <= num_cards <= _MAX_CARDS and 1 <= turns <= num_cards
    if not is_covered or turns == num_cards - 1:
        return None
    if points_order not in _ORDERS or returns_type not in _RETURNS:
        return None
    order, pays = _ORDERS.index(points_order), _RETURNS.index(returns_type)
    return Twin(
        globals(),
        (players, num_cards, turns, order, imp_info, pays),
        state=_OF_PLAYERS + 3 * players + (turns + 1) * (players + 2),
        key=turns + 1 + (0 if imp_info else players),
        text_size=150 + 30 * players + (12 + 4 * players) * num_cards,
    )
