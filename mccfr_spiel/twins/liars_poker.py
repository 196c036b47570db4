"""The twin of OpenSpiel's python_liars_poker for two players.

Each player is dealt some digits in secret. In turn the players bid how often a digit
occurs in both hands, each bid above the one before. A bid that was challenged may be
raised once by its bidder, or counted; a raise that is challenged is counted at once.
"""

from mccfr_spiel.rules.description import CHANCE, TERMINAL, compiled
from mccfr_spiel.rules.kernel import put, put_labeled, put_number, word
from mccfr_spiel.twins.twin import (
    MEMBERS,
    Twin,
    add_member,
    copy_range,
    has_member,
    parts_of,
    write_range,
)

_HAND, _DIGITS = range(2)  # in settings
# The state has the digits dealt, the moves made since, the newest bid + 1, whether it
# raises the bidder's own, the challenges since, whether it was counted, the digits as
# they were dealt, by turns, and two sets: of the bids made, and of those challenged.
# Since bids ascend, the two sets tell all moves.
_DEALT, _MOVES, _BID, _IS_RAISE, _CHALLENGES, _COUNTED, _FIRST = range(7)
_CHALLENGE = 0  # the action; a bid is action - 1
_PLAYER, _OWN, _RAISED = word("p"), word(" hand:["), word("] rebid:[")
_OPEN, _COMMA, _STOP = map(word, ("] counts:[0]", ", ", "."))
_NAMES = word(" b:"), word(" c:")


@compiled
def _bids(settings):
    """How many bids there are."""
    return 2 * int(settings[_HAND]) * int(settings[_DIGITS])


@compiled
def _parts(settings):
    """How many numbers a set of bids takes."""
    return parts_of(_bids(settings))


@compiled
def _acting(settings, state):
    if state[_COUNTED] != 0:
        return TERMINAL
    if state[_DEALT] < 2 * int(settings[_HAND]):
        return CHANCE
    return state[_MOVES] % 2


@compiled
def _legal_actions(settings, state, actions):
    if state[_DEALT] < 2 * int(settings[_HAND]):
        for k in range(int(settings[_DIGITS])):
            actions[k] = (k + 1) % 10
        return int(settings[_DIGITS])
    count = 0
    if state[_BID] > 0:
        actions[count] = _CHALLENGE
        count += 1
    return write_range(actions, count, state[_BID] + 1, _bids(settings) + 1)


@compiled
def _apply_action(settings, state, action):
    sets = _FIRST + 2 * int(settings[_HAND])
    if state[_DEALT] < 2 * int(settings[_HAND]):
        state[_FIRST + state[_DEALT]] = action
        state[_DEALT] += 1
        return
    state[_MOVES] += 1
    if action == _CHALLENGE:
        bid = state[_BID] - 1
        add_member(state, sets + _parts(settings), bid, MEMBERS)
        state[_COUNTED] = int(state[_IS_RAISE] + state[_CHALLENGES] > 0)
        state[_CHALLENGES] += 1
        return
    bid = action - 1
    state[_IS_RAISE], state[_CHALLENGES] = state[_CHALLENGES], 0
    state[_BID] = action
    add_member(state, sets, bid, MEMBERS)


@compiled
def _write_sets(settings, state, key, length):
    """Writes both sets behind the length; returns the new length."""
    first = _FIRST + 2 * int(settings[_HAND])
    return copy_range(state, first, first + 2 * _parts(settings), key, length)


@compiled
def _info_key(settings, state, player, key):
    hand = int(settings[_HAND])
    for k in range(hand):
        key[k] = state[_FIRST + 2 * k + player]
    return _write_sets(settings, state, key, hand)


@compiled
def _world_key(settings, state, key):
    """How many digits were dealt, whether they were counted, and both sets."""
    key[0], key[1] = state[_DEALT], state[_COUNTED]
    return _write_sets(settings, state, key, 2)


@compiled
def _leaf_class(settings, state, player):
    """How many digits of a player are that of the last bid.

    The tenth digit of the deck is 0 and that of bids is 10, so none is.
    """
    digit, matches = (state[_BID] - 1) % int(settings[_DIGITS]) + 1, 0
    for k in range(int(settings[_HAND])):
        matches += int(state[_FIRST + 2 * k + player] == digit)
    return matches


@compiled
def _class_returns(settings, state, class0, class1, returns):
    # The bidder made the last move, unless that was the challenge of a raise.
    bidder = (state[_MOVES] - 1 + state[_IS_RAISE]) % 2
    is_true = class0 + class1 > (state[_BID] - 1) // int(settings[_DIGITS])
    returns[bidder] = 1.0 if is_true else -1.0
    returns[1 - bidder] = -returns[bidder]


@compiled
def _returns(settings, state, returns):
    first, second = _leaf_class(settings, state, 0), _leaf_class(settings, state, 1)
    _class_returns(settings, state, first, second, returns)


@compiled
def _spell(settings, player, key, length, text):
    hand, parts = int(settings[_HAND]), _parts(settings)
    # A player who is about to answer a raise: the bid before it was challenged.
    challenged, newest, before = 0, -1, -1
    for bid in range(_bids(settings)):
        if has_member(key, hand, bid, MEMBERS):
            newest, before = bid, newest
    at = put(text, put_labeled(text, 0, _PLAYER, player), _OWN)
    at = put_number(text, at, key[0])
    for k in range(1, hand):
        at = put_labeled(text, at, _COMMA, key[k])
    if before >= 0:
        challenged = int(has_member(key, hand + parts, before, MEMBERS))
    at = put(text, put_labeled(text, at, _RAISED, challenged), _OPEN)
    for which in range(2):
        for bid in range(_bids(settings)):
            if has_member(key, hand + which * parts, bid, MEMBERS):
                at = put_labeled(text, at, _NAMES[which], bid)
                at = put(text, at, _STOP)
    return at


def twin(players: int, hand_length: int, num_digits: int) -> Twin | None:
    """The twin for OpenSpiel's parameters; None for more players."""
    if players != 2 or hand_length < 1 or not 1 <= num_digits <= 10:
        return None
    bids = 2 * hand_length * num_digits
    key = hand_length + 2 * parts_of(bids)
    return Twin(
        globals(),
        (hand_length, num_digits),
        state=_FIRST + hand_length + key,
        key=key,
        text_size=40 + 3 * hand_length + 16 * bids,
        corrected={
            "num_actions": bids + 1,
            "max_moves": 2 * bids + 1,
            "max_chance_outcomes": 10,
            "max_chance_moves": 2 * hand_length,
        },
    )
