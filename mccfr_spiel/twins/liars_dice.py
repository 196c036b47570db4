"""The twin of OpenSpiel's liars_dice, for any dice and both rules of bidding.

Each of two players rolls some dice in secret. In turn they bid a quantity and a face,
each bid above the one before, until one calls the other a liar. The last bid is true if
at least that many dice of both players show its face or the highest face.
"""

from mccfr_spiel.rules.description import CHANCE, TERMINAL, compiled
from mccfr_spiel.rules.kernel import put_labeled, put_number, word
from mccfr_spiel.twins.twin import (
    MEMBERS,
    Twin,
    add_member,
    copy_range,
    has_member,
    parts_of,
    write_range,
)

_DICE, _SIDES, _FACE_FIRST = range(3)  # in settings
# The state has the dice rolled, the newest bid + 1, the number of bids, whether it was
# called, the dice of player 0 and of player 1, sorted, and the set of bids made. Since
# bids ascend, it tells their order.
_ROLLED, _BID, _BIDS, _CALLED, _DIE = range(5)


@compiled
def _acting(settings, state):
    if state[_CALLED] != 0:
        return TERMINAL
    if state[_ROLLED] < 2 * int(settings[_DICE]):
        return CHANCE
    return state[_BIDS] % 2


@compiled
def _legal_actions(settings, state, actions):
    dice = int(settings[_DICE])
    sides = int(settings[_SIDES])
    if state[_ROLLED] < 2 * dice:
        return write_range(actions, 0, 0, sides)
    stop = 2 * dice * sides  # where the action is to call the last bid a lie
    return write_range(actions, 0, state[_BID], stop + int(state[_BID] > 0))


@compiled
def _apply_action(settings, state, action):
    dice = int(settings[_DICE])
    rolled = state[_ROLLED]
    if rolled < 2 * dice:
        first = _DIE + rolled // dice * dice  # where the player's dice begin
        place = _DIE + rolled
        while place > first and state[place - 1] > action:
            state[place] = state[place - 1]
            place -= 1
        state[place] = action
        state[_ROLLED] = rolled + 1
        return
    if action == 2 * dice * int(settings[_SIDES]):
        state[_CALLED] = 1
        return
    state[_BID] = action + 1
    state[_BIDS] += 1
    add_member(state, _DIE + 2 * dice, action, MEMBERS)


@compiled
def _write_bids(settings, state, key, length):
    """Writes the bids behind the length; returns the new length."""
    dice = int(settings[_DICE])
    first, parts = _DIE + 2 * dice, parts_of(2 * dice * int(settings[_SIDES]))
    return copy_range(state, first, first + parts, key, length)


@compiled
def _info_key(settings, state, player, key):
    dice = int(settings[_DICE])
    first = _DIE + dice * player
    length = copy_range(state, first, first + dice, key, 0)
    return _write_bids(settings, state, key, length)


@compiled
def _face_of(settings, bid):
    if settings[_FACE_FIRST] != 0.0:
        return bid % int(settings[_SIDES])
    return bid // (2 * int(settings[_DICE]))


@compiled
def _quantity_of(settings, bid):
    if settings[_FACE_FIRST] != 0.0:
        return bid // int(settings[_SIDES]) + 1
    return bid % (2 * int(settings[_DICE])) + 1


@compiled
def _world_key(settings, state, key):
    """How many dice were rolled, whether the last bid was called, and the bids."""
    key[0], key[1] = state[_ROLLED], state[_CALLED]
    return _write_bids(settings, state, key, 2)


@compiled
def _leaf_class(settings, state, player):
    """How many dice of a player show the face of the last bid or the highest face."""
    dice = int(settings[_DICE])
    face = _face_of(settings, state[_BID] - 1)
    matches = 0
    for k in range(dice * player, dice * (player + 1)):
        die = state[_DIE + k]
        matches += int(die == face or die == int(settings[_SIDES]) - 1)
    return matches


@compiled
def _class_returns(settings, state, class0, class1, returns):
    bidder = 1 - state[_BIDS] % 2
    is_true = class0 + class1 >= _quantity_of(settings, state[_BID] - 1)
    returns[bidder] = 1.0 if is_true else -1.0
    returns[1 - bidder] = -returns[bidder]


@compiled
def _returns(settings, state, returns):
    first, second = _leaf_class(settings, state, 0), _leaf_class(settings, state, 1)
    _class_returns(settings, state, first, second, returns)


_SPACE, _HYPHEN = map(word, " -")


@compiled
def _spell(settings, player, key, length, text):
    dice = int(settings[_DICE])
    at = 0
    for k in range(dice):
        at = put_number(text, at, key[k] + 1)
    for bid in range(MEMBERS * (length - dice)):
        if has_member(key, dice, bid, MEMBERS):
            at = put_labeled(text, at, _SPACE, _quantity_of(settings, bid))
            at = put_labeled(text, at, _HYPHEN, _face_of(settings, bid) + 1)
    return at


_BIDDING_RULES = ("reset-face", "reset-quantity")
_MOST_SIDES = 9
"""With more, the string "112" would stand for 1 and 12 as well as for 11 and 2."""


def twin(players: int, numdice: int, dice_sides: int, bidding_rule: str) -> Twin | None:
    """The twin for OpenSpiel's parameters; for dice with more sides there is none."""
    is_told = dice_sides <= _MOST_SIDES or numdice == 1
    if players != 2 or bidding_rule not in _BIDDING_RULES or not is_told:
        return None
    bids = 2 * numdice * dice_sides
    key = numdice + parts_of(bids)
    settings = numdice, dice_sides, bidding_rule == "reset-face"
    state, text_size = _DIE + numdice + key, 3 * numdice + 8 * bids
    return Twin(globals(), settings, state, key, text_size)
