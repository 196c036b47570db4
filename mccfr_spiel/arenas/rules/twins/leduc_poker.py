"""The twin of OpenSpiel's leduc_poker, with all parameters.

P players have 100 chips, ante 1, and receive one card each of a deck of two suits and
P + 1 ranks. A round of betting, a public card and a second round follow. Raises are 2
in the first round and 4 in the second, at most two per round. A pair with the public
card wins, otherwise the higher rank. Equal hands split the pot.
"""

from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import copy_range
from mccfr_spiel.arenas.rules.twins.twin import Twin

_PLAYERS, _MAPS_ACTIONS, _FIRST_PLAYER, _MERGES_SUITS = range(4)
"""Entries of `settings`:

_PLAYERS: number of players.
_MAPS_ACTIONS: 1 if fold, call and raise are always legal, and an impossible action
counts as a call.
_FIRST_PLAYER: the player who acts first.
_MERGES_SUITS: 1 if cards of a rank are identical.
"""

_DEALT, _PUBLIC, _ROUND, _RAISES, _CALLS, _TURN, _STAKES, _LEFT = range(8)
_COUNT, _OF_PLAYERS = 8, 10
"""Entries of the state:

_DEALT: private cards dealt.
_PUBLIC: public card + 1.
_ROUND: betting round, 0 or 1; 2 at the end.
_RAISES: raises in the round.
_CALLS: calls since the last raise.
_TURN: acting player.
_STAKES: number of chips that a player has paid after a call.
_LEFT: number of players who have not folded.
_COUNT: `[2]` number of actions in each round.
_OF_PLAYERS: `[P]` private cards, `[P]` chips paid, `[P]` 1 if folded, `[3 P - 2]`
    actions of round 0, `[3 P - 2]` actions of round 1.
"""

_FOLD, _CALL, _RAISE = range(3)
_MAX_RAISES = 2
_MONEY = 100
_SHOWN = 3  # added to the public card in a key, to distinguish it from actions 0 to 2


@compiled
def _start(settings, state):
    players = int(settings[_PLAYERS])
    state[_STAKES] = 1
    state[_LEFT] = players
    for player in range(players):
        state[_OF_PLAYERS + players + player] = 1
    state[_TURN] = int(settings[_FIRST_PLAYER])


@compiled
def _acting(settings, state):
    players = int(settings[_PLAYERS])
    if state[_LEFT] == 1 or state[_ROUND] == 2:
        return TERMINAL
    if state[_DEALT] < players or (state[_ROUND] == 1 and state[_PUBLIC] == 0):
        return CHANCE
    return state[_TURN]


@compiled
def _copies_dealt(settings, state, card):
    dealt = 0
    for player in range(state[_DEALT]):
        dealt += int(state[_OF_PLAYERS + player] == card)
    return dealt


@compiled
def _legal_actions(settings, state, actions):
    players = int(settings[_PLAYERS])
    count = 0
    if state[_DEALT] < players or (state[_ROUND] == 1 and state[_PUBLIC] == 0):
        merges = settings[_MERGES_SUITS] != 0.0
        cards = (players + 1) if merges else 2 * (players + 1)
        copies = 2 if merges else 1
        for card in range(cards):
            if _copies_dealt(settings, state, card) < copies:
                actions[count] = card
                count += 1
        return count
    maps = settings[_MAPS_ACTIONS] != 0.0
    chips = state[_OF_PLAYERS + players + state[_TURN]]
    if maps or state[_STAKES] > chips:
        actions[count] = _FOLD
        count += 1
    actions[count] = _CALL
    count += 1
    if maps or state[_RAISES] < _MAX_RAISES:
        actions[count] = _RAISE
        count += 1
    return count


@compiled
def _chance_probs(settings, state, probs):
    if settings[_MERGES_SUITS] == 0.0:
        return
    players, count = int(settings[_PLAYERS]), 0
    left = 2 * (players + 1) - state[_DEALT]
    for card in range(players + 1):
        copies = 2 - _copies_dealt(settings, state, card)
        if copies > 0:
            probs[count] = 1.0 / left if copies == 1 else 2.0 / left
            count += 1


@compiled
def _next_player(settings, state, after):
    players = int(settings[_PLAYERS])
    folded = _OF_PLAYERS + 2 * players
    player = (after + 1) % players
    while state[folded + player] != 0:
        player = (player + 1) % players
    return player


@compiled
def _apply_action(settings, state, action):
    players = int(settings[_PLAYERS])
    if state[_DEALT] < players:
        state[_OF_PLAYERS + state[_DEALT]] = action
        state[_DEALT] += 1
        return
    if state[_ROUND] == 1 and state[_PUBLIC] == 0:
        state[_PUBLIC] = action + 1
        return
    player = state[_TURN]
    chips = _OF_PLAYERS + players + player
    if action == _FOLD and state[_STAKES] <= state[chips]:
        action = _CALL  # with mapped actions, impossible ones are calls
    if action == _RAISE and state[_RAISES] >= _MAX_RAISES:
        action = _CALL
    longest = 3 * players - 2
    round_ = state[_ROUND]
    actions = _OF_PLAYERS + 3 * players + longest * round_
    state[actions + state[_COUNT + round_]] = action
    state[_COUNT + round_] += 1
    if action == _FOLD:
        state[_OF_PLAYERS + 2 * players + player] = 1
        state[_LEFT] -= 1
    elif action == _CALL:
        state[chips] = state[_STAKES]
        state[_CALLS] += 1
    else:
        state[_STAKES] += 2 * (round_ + 1)
        state[chips] = state[_STAKES]
        state[_RAISES] += 1
        state[_CALLS] = 0
    if state[_LEFT] == 1:
        return
    if state[_CALLS] == state[_LEFT] - int(state[_RAISES] > 0):
        state[_ROUND] += 1
        state[_RAISES] = 0
        state[_CALLS] = 0
        before = int(settings[_FIRST_PLAYER]) + players - 1
        state[_TURN] = _next_player(settings, state, before % players)
    else:
        state[_TURN] = _next_player(settings, state, player)


@compiled
def _info_key(settings, state, player, key):
    """Writes the player's card, the chips paid by each player, the actions of the first
    round, and then the public card and the actions of the second round.
    """
    players = int(settings[_PLAYERS])
    if state[_DEALT] <= player:
        return 0
    key[0] = state[_OF_PLAYERS + player]
    chips, first = _OF_PLAYERS + players, _OF_PLAYERS + 3 * players
    length = copy_range(state, chips, chips + players, key, 1)
    length = copy_range(state, first, first + state[_COUNT], key, length)
    if state[_PUBLIC] == 0:
        return length
    key[length] = _SHOWN + state[_PUBLIC] - 1
    second = first + 3 * players - 2
    return copy_range(state, second, second + state[_COUNT + 1], key, length + 1)


@compiled
def _strength(settings, state, player):
    """Returns the strength of a remaining player's hand; 0 if all others folded."""
    if state[_LEFT] == 1:
        return 0
    merges = settings[_MERGES_SUITS] != 0.0
    own = state[_OF_PLAYERS + player]
    public = state[_PUBLIC] - 1
    if not merges:
        own //= 2
        public //= 2
    size = 2 * (int(settings[_PLAYERS]) + 1)
    if own == public:
        return size * size + own
    return max(own, public) * size + min(own, public)


@compiled
def _returns(settings, state, returns):
    players = int(settings[_PLAYERS])
    folded = _OF_PLAYERS + 2 * players
    pot = 0
    best = -1
    winners = 0
    for player in range(players):
        chips = state[_OF_PLAYERS + players + player]
        pot += chips
        returns[player] = _MONEY - chips
        if state[folded + player] == 0:
            strength = _strength(settings, state, player)
            if strength > best:
                best = strength
                winners = 0
            winners += int(strength == best)
    for player in range(players):
        is_left = state[folded + player] == 0
        if is_left and _strength(settings, state, player) == best:
            returns[player] += pot / winners
        returns[player] -= _MONEY


_OBSERVER, _PRIVATE, _IN_ROUND = map(word, ("[Observer: ", "][Private: ", "][Round "))
_PLAYER, _POT, _CHIPS = map(word, ("][Player: ", "][Pot: ", "][Money:"))
_SHOWS, _ROUND_1, _ROUND_2 = map(word, ("][Public: ", "][Round1: ", "][Round2: "))
_END, _SPACE = map(word, "] ")


@compiled
def _put_actions(text, at, key, start, stop):
    for k in range(start, stop):
        if k > start:
            at = put(text, at, _SPACE)
        at = put_number(text, at, key[k])
    return at


@compiled
def _spell(settings, player, key, length, text):
    players = int(settings[_PLAYERS])
    first = 1 + players
    stop = first  # end of the first round's actions
    while stop < length and key[stop] < _SHOWN:
        stop += 1
    pot = 0
    for other in range(players):
        pot += key[1 + other]
    at = put_labeled(text, 0, _OBSERVER, player)
    at = put_labeled(text, at, _PRIVATE, key[0])
    at = put_labeled(text, at, _IN_ROUND, 1 if stop == length else 2)
    at = put_labeled(text, at, _PLAYER, player)
    at = put_labeled(text, at, _POT, pot)
    at = put(text, at, _CHIPS)
    for other in range(players):
        at = put(text, at, _SPACE)
        at = put_number(text, at, _MONEY - key[1 + other])
    if stop < length:
        at = put_labeled(text, at, _SHOWS, key[stop] - _SHOWN)
    at = put(text, at, _ROUND_1)
    at = _put_actions(text, at, key, first, stop)
    at = put(text, at, _ROUND_2)
    at = _put_actions(text, at, key, stop + 1, length)
    return put(text, at, _END)


def twin(
    players: int, action_mapping: bool, starting_player: int, suit_isomorphism: bool
) -> Twin:
    """Builds the twin from OpenSpiel's parameters."""
    longest = 3 * players - 2
    return Twin(
        globals(),
        (players, action_mapping, starting_player, suit_isomorphism),
        state=_OF_PLAYERS + 3 * players + 2 * longest,
        key=2 + players + 2 * longest,
        text_size=120 + 6 * players + 4 * longest,
        corrected={"max_chance_moves": players + 1},
    )
