"""The twins of OpenSpiel's liars_dice and python_liars_poker, for two players.

Each player secretly receives some symbols, by rolling dice or drawing digits. In turn
the players bid a quantity and a symbol: how often the symbol occurs in both hands
together. Each bid must be higher than the previous bid. The game ends when a challenged
bid is counted, that is, compared with the hands.

With dice, the highest face is wild, and a challenged bid is counted immediately. With
digits, the bidder may answer a challenge by a raise, or have the bid counted; a
challenged raise is counted immediately. So a bid with dice follows the rules of a raise
with digits.
"""

from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import (
    MEMBERS,
    add_member,
    copy_range,
    has_member,
    parts_of,
    write_range,
)
from mccfr_spiel.arenas.rules.twins.twin import Twin

_HAND, _KINDS, _IS_DICE, _FACE_FIRST = range(4)
"""Entries of `settings`:

_HAND: symbols per hand.
_KINDS: number of different symbols.
_IS_DICE: 1 for dice, 0 for digits.
_FACE_FIRST: 1 if the next higher bid has the next face (with the same quantity, if
possible); 0 if it has the next quantity (with the same face).
"""

_DEALT, _MOVES, _BID, _IS_RAISE, _CHALLENGES, _COUNTED, _FIRST = range(7)
"""Entries of the state:

_DEALT: number of symbols dealt.
_MOVES: number of moves of the players.
_BID: last bid + 1; 0 before the first bid.
_IS_RAISE: 1 if a challenge of the last bid ends the game: always with dice; with
digits, if the bid is the bidder's answer to a challenge.
_CHALLENGES: number of challenges since the last bid.
_COUNTED: 1 if the last bid is counted, so that the game is over.
_FIRST: `[2 hands]` symbols of player 0 and of player 1 (dice are sorted), followed by
    two sets: bids, and challenged bids. Because bids ascend, these sets determine all
    moves.
"""


@compiled
def _bids(settings):
    """Returns the number of possible bids."""
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
    """Writes the symbols at a chance node, otherwise the higher bids and the challenge.

    Chance deals the faces 0, 1, ... or the digits 1 .. 9, 0. The challenge is the last
    action with dice, and action 0 with digits.
    """
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
    if settings[_IS_DICE] == 0.0:  # digits are dealt alternately
        state[_FIRST + hand * (dealt % 2) + dealt // 2] = symbol
        return
    # Insert the die into the player's sorted dice.
    first = _FIRST + dealt // hand * hand
    k = _FIRST + dealt
    while k > first and state[k - 1] > symbol:
        state[k] = state[k - 1]
        k -= 1
    state[k] = symbol


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
    """Appends the set of bids and, with digits, of challenged bids to a key.

    Returns the new length.
    """
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
    """Writes the number of dealt symbols, whether the last bid is counted, and the sets
    of bids and challenged bids.
    """
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
    """Returns the number of a player's symbols that match the last bid.

    In python_liars_poker, bids use the number 10 for the digit 0. OpenSpiel compares
    this 10 with the digit 0, so a 0 never matches, and the twin reproduces this.
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
    # If a raise was challenged (or, with dice, a bid), the opponent of the bidder made
    # the last move. Otherwise the bidder answered the challenge by having it counted.
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
    # The field "rebid" shows whether the bid before the last bid was challenged.
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
    for challenges in range(2):
        for bid in range(_bids(settings)):
            if has_member(key, hand + challenges * parts, bid):
                at = put_labeled(text, at, _NAMES[challenges], bid)
                at = put(text, at, _STOP)
    return at


_BIDDING_RULES = ("reset-face", "reset-quantity")
_MAX_SIDES = 9
"""Largest number of sides for several dice. With more sides, the string "112" could
mean 1 and 12 or 11 and 2."""


def liars_dice(
    players: int, numdice: int, dice_sides: int, bidding_rule: str
) -> Twin | None:
    """Builds the twin of liars_dice; None for several dice with more than 9 sides."""
    is_unique = dice_sides <= _MAX_SIDES or numdice == 1
    if players != 2 or bidding_rule not in _BIDDING_RULES or not is_unique:
        return None
    bids = 2 * numdice * dice_sides
    key, text_size = numdice + parts_of(bids), 3 * numdice + 8 * bids
    settings = numdice, dice_sides, True, bidding_rule == "reset-face"
    functions = globals() | {"spell": _spell_dice}
    return Twin(functions, settings, _FIRST + numdice + key, key, text_size)


def liars_poker(players: int, hand_length: int, num_digits: int) -> Twin | None:
    """Builds the twin of python_liars_poker; None for more than two players."""
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
