"""The twins of OpenSpiel's liars_dice and python_liars_poker, for two players.

Each player gets some symbols in secret: rolls dice, or is dealt digits. In turn the
players bid how often a symbol occurs in both hands, each bid above the one before,
until a bid is challenged.

With dice, of which the highest face stands for any other, a challenged bid is counted
at once. With digits its bidder may raise it once, or let it be counted, and only a
raise that is challenged is counted at once. So a bid with dice is like a raise.
"""

from mccfr_spiel.arenas.rules.description import CHANCE, TERMINAL, compiled
from mccfr_spiel.arenas.rules.kernel import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.twin import (
    MEMBERS,
    Twin,
    add_member,
    copy_range,
    has_member,
    parts_of,
    write_range,
)

_HAND, _KINDS, _IS_DICE, _FACE_FIRST = range(4)  # in settings
# The state has the symbols dealt, the moves made since, the newest bid + 1, whether it
# raises the bidder's own, the challenges since, whether it was counted, the symbols of
# player 0 and of player 1, and two sets: of the bids made, and of those challenged.
# Since bids ascend, the two sets tell all moves. Dice are sorted.
_DEALT, _MOVES, _BID, _IS_RAISE, _CHALLENGES, _COUNTED, _FIRST = range(7)


@compiled
def _bids(settings):
    """How many bids there are."""
    return 2 * int(settings[_HAND]) * int(settings[_KINDS])


@compiled
def _acting(settings, state):
    if state[_COUNTED] != 0:
        return TERMINAL
    if state[_DEALT] < 2 * int(settings[_HAND]):
        return CHANCE
    return state[_MOVES] % 2


@compiled
def _legal_actions(settings, state, actions):
    """Faces from 0 on, or the digits 1 .. 9, 0; or bids, and the challenge behind them
    with dice, before them with digits."""
    kinds, is_dice = int(settings[_KINDS]), settings[_IS_DICE] != 0.0
    if state[_DEALT] < 2 * int(settings[_HAND]):
        for k in range(kinds):
            actions[k] = k if is_dice else (k + 1) % 10
        return kinds
    first, has_bid = int(not is_dice), int(state[_BID] > 0)
    actions[0] = 0
    stop = _bids(settings) + (has_bid if is_dice else first)
    return write_range(actions, first * has_bid, first + state[_BID], stop)


@compiled
def _deal(settings, state, symbol):
    hand, dealt = int(settings[_HAND]), state[_DEALT]
    state[_DEALT] += 1
    if settings[_IS_DICE] == 0.0:  # by turns
        state[_FIRST + hand * (dealt % 2) + dealt // 2] = symbol
        return
    first = _FIRST + dealt // hand * hand  # where the player's dice begin
    place = _FIRST + dealt
    while place > first and state[place - 1] > symbol:
        state[place] = state[place - 1]
        place -= 1
    state[place] = symbol


@compiled
def _apply_action(settings, state, action):
    hand, is_dice = int(settings[_HAND]), settings[_IS_DICE] != 0.0
    if state[_DEALT] < 2 * hand:
        _deal(settings, state, action)
        return
    state[_MOVES] += 1
    sets, bids = _FIRST + 2 * hand, _bids(settings)
    if action == (bids if is_dice else 0):
        if not is_dice:
            add_member(state, sets + parts_of(bids), state[_BID] - 1)
        state[_COUNTED] = int(state[_IS_RAISE] + state[_CHALLENGES] > 0)
        state[_CHALLENGES] += 1
        return
    bid = action - int(not is_dice)
    state[_IS_RAISE] = 1 if is_dice else state[_CHALLENGES]
    state[_CHALLENGES] = 0
    state[_BID] = bid + 1
    add_member(state, sets, bid)


@compiled
def _write_sets(settings, state, key, length):
    """Writes the bids, and with digits those challenged, behind the length; returns the
    new length."""
    sets, parts = _FIRST + 2 * int(settings[_HAND]), parts_of(_bids(settings))
    stop = sets + (parts if settings[_IS_DICE] != 0.0 else 2 * parts)
    return copy_range(state, sets, stop, key, length)


@compiled
def _info_key(settings, state, player, key):
    hand = int(settings[_HAND])
    first = _FIRST + hand * player
    length = copy_range(state, first, first + hand, key, 0)
    return _write_sets(settings, state, key, length)


@compiled
def _world_key(settings, state, key):
    """How many symbols were dealt, whether they were counted, and the sets."""
    key[0], key[1] = state[_DEALT], state[_COUNTED]
    return _write_sets(settings, state, key, 2)


@compiled
def _face_of(settings, bid):
    if settings[_FACE_FIRST] != 0.0:
        return bid % int(settings[_KINDS])
    return bid // (2 * int(settings[_HAND]))


@compiled
def _quantity_of(settings, bid):
    if settings[_FACE_FIRST] != 0.0:
        return bid // int(settings[_KINDS]) + 1
    return bid % (2 * int(settings[_HAND])) + 1


@compiled
def _leaf_class(settings, state, player):
    """How many symbols of a player count for the last bid.

    The tenth digit of the deck is 0 and that of bids is 10, so none does.
    """
    hand, face = int(settings[_HAND]), _face_of(settings, state[_BID] - 1)
    is_dice = settings[_IS_DICE] != 0.0
    bid = face if is_dice else face + 1
    wild = int(settings[_KINDS]) - 1 if is_dice else bid
    matches = 0
    for k in range(hand * player, hand * (player + 1)):
        matches += int(state[_FIRST + k] == bid or state[_FIRST + k] == wild)
    return matches


@compiled
def _class_returns(settings, state, class0, class1, returns):
    # The bidder made the last move, unless that was the challenge of a raise.
    bidder = (state[_MOVES] - 1 + state[_IS_RAISE]) % 2
    is_true = class0 + class1 >= _quantity_of(settings, state[_BID] - 1)
    returns[bidder] = 1.0 if is_true else -1.0
    returns[1 - bidder] = -returns[bidder]


@compiled
def _returns(settings, state, returns):
    first, second = _leaf_class(settings, state, 0), _leaf_class(settings, state, 1)
    _class_returns(settings, state, first, second, returns)


_SPACE, _HYPHEN = map(word, " -")


@compiled
def _spell_dice(settings, player, key, length, text):
    dice = int(settings[_HAND])
    at = 0
    for k in range(dice):
        at = put_number(text, at, key[k] + 1)
    for bid in range(MEMBERS * (length - dice)):
        if has_member(key, dice, bid):
            at = put_labeled(text, at, _SPACE, _quantity_of(settings, bid))
            at = put_labeled(text, at, _HYPHEN, _face_of(settings, bid) + 1)
    return at


_PLAYER, _OWN, _RAISED = word("p"), word(" hand:["), word("] rebid:[")
_OPEN, _COMMA, _STOP = map(word, ("] counts:[0]", ", ", "."))
_NAMES = word(" b:"), word(" c:")


@compiled
def _spell_digits(settings, player, key, length, text):
    hand, parts = int(settings[_HAND]), parts_of(_bids(settings))
    # A player who is about to answer a raise: the bid before it was challenged.
    challenged, newest, before = 0, -1, -1
    for bid in range(_bids(settings)):
        if has_member(key, hand, bid):
            newest, before = bid, newest
    at = put(text, put_labeled(text, 0, _PLAYER, player), _OWN)
    at = put_number(text, at, key[0])
    for k in range(1, hand):
        at = put_labeled(text, at, _COMMA, key[k])
    if before >= 0:
        challenged = int(has_member(key, hand + parts, before))
    at = put(text, put_labeled(text, at, _RAISED, challenged), _OPEN)
    for which in range(2):
        for bid in range(_bids(settings)):
            if has_member(key, hand + which * parts, bid):
                at = put_labeled(text, at, _NAMES[which], bid)
                at = put(text, at, _STOP)
    return at


_BIDDING_RULES = ("reset-face", "reset-quantity")
_MOST_SIDES = 9
"""With more, the string "112" would stand for 1 and 12 as well as for 11 and 2."""


def liars_dice(
    players: int, numdice: int, dice_sides: int, bidding_rule: str
) -> Twin | None:
    """The twin of liars_dice; for several dice with more sides there is none."""
    is_told = dice_sides <= _MOST_SIDES or numdice == 1
    if players != 2 or bidding_rule not in _BIDDING_RULES or not is_told:
        return None
    bids = 2 * numdice * dice_sides
    key, text_size = numdice + parts_of(bids), 3 * numdice + 8 * bids
    settings = numdice, dice_sides, True, bidding_rule == "reset-face"
    functions = globals() | {"spell": _spell_dice}
    return Twin(functions, settings, _FIRST + numdice + key, key, text_size)


def liars_poker(players: int, hand_length: int, num_digits: int) -> Twin | None:
    """The twin of python_liars_poker; None for more players."""
    if players != 2 or hand_length < 1 or not 1 <= num_digits <= 10:
        return None
    bids = 2 * hand_length * num_digits
    key = hand_length + 2 * parts_of(bids)
    return Twin(
        globals() | {"spell": _spell_digits},
        (hand_length, num_digits, False, True),
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
