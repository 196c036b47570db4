"""The twins of OpenSpiel's phantom_ttt and dark_hex.

Two players put stones on a board in turn, and neither sees those of the other. A player
who picks a cell that is taken learns so, and moves again, or in the abrupt version
loses the turn. In phantom tic-tac-toe three stones in a line win. In dark hex player 0
wins by connecting the top with the bottom, player 1 by connecting left with right.
"""

from mccfr_spiel.arenas.rules.description import TERMINAL, compiled, write_members
from mccfr_spiel.arenas.rules.kernel import put, put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin

_ROWS, _COLUMNS, _IS_HEX, _IS_ABRUPT, _SHOWS_TURNS = range(5)  # in settings
# The state has who acts, the winner + 1 (3: nobody), the moves made, each player's
# stones and the cells that each player knows, as sets of bits; then each move as
# 2 * cell + 1 if it succeeded, plus 2 * cells if it was player 1's.
_TURN, _WINNER, _COUNT, _STONES, _KNOWN, MOVES = 0, 1, 2, 3, 5, 7
_DRAW = 3
_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
"""The lines of tic-tac-toe as sets of cells."""


@compiled
def acting(settings, state):
    """`Rules.acting`."""
    return TERMINAL if state[_WINNER] != 0 else state[_TURN]


@compiled
def legal_actions(settings, state, actions):
    """`Rules.legal_actions`: the cells that the player does not know to be taken."""
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    known = state[_KNOWN + state[_TURN]]
    return write_members(((1 << cells) - 1) & ~known, actions)


@compiled
def _has_line(stones):
    for line in _LINES:  # noqa: SIM110
        if stones & line == line:
            return True
    return False


@compiled
def _connects(settings, stones, cell, player):
    """Whether the stones that are connected to a cell reach both of a player's sides.

    One pass of the loop adds the neighbors of all cells reached so far. The neighbors
    of a cell are those beside it, the one above it and the one to the right of that,
    the one below it and the one to the left of that.
    """
    rows = int(settings[_ROWS])
    columns = int(settings[_COLUMNS])
    left = 0
    for row in range(rows):
        left |= 1 << row * columns
    right = left << (columns - 1)
    first, last = left, right
    if player == 0:
        first = (1 << columns) - 1
        last = first << (rows - 1) * columns
    reached = 1 << cell
    while True:
        leftward, rightward = reached & ~left, reached & ~right
        grown = reached | reached << columns | reached >> columns
        grown |= leftward >> 1 | rightward << 1
        grown |= leftward << (columns - 1) | rightward >> (columns - 1)
        grown &= stones
        if grown == reached:
            return reached & first != 0 and reached & last != 0
        reached = grown


@compiled
def play(settings, state, action, is_hex, is_abrupt):
    """Makes a move; of the settings it reads the rows and columns."""
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    player = state[_TURN]
    is_free = not (state[_STONES] | state[_STONES + 1]) >> action & 1
    state[_KNOWN + player] |= 1 << action
    move = 2 * cells * player + 2 * action + int(is_free)
    state[MOVES + state[_COUNT]] = move
    state[_COUNT] += 1
    if is_free:
        state[_STONES + player] |= 1 << action
        stones = state[_STONES + player]
        if is_hex:
            wins = _connects(settings, stones, action, player)
        else:
            wins = _has_line(stones)
        if wins:
            state[_WINNER] = player + 1
        elif state[_STONES] | state[_STONES + 1] == (1 << cells) - 1:
            state[_WINNER] = _DRAW
    if is_free or is_abrupt:
        state[_TURN] = 1 - player


@compiled
def _apply_action(settings, state, action):
    is_hex, is_abrupt = settings[_IS_HEX] != 0.0, settings[_IS_ABRUPT] != 0.0
    play(settings, state, action, is_hex, is_abrupt)


@compiled
def world_of(settings, state, key, shows_tries):
    """Writes the stones in the order in which they were put, each as in the state.

    A try in vain is private. Where both players hear of it (`shows_tries`), that it was
    made belongs to the world as well, and only its cell is private.
    """
    in_vain = 4 * int(settings[_ROWS]) * int(settings[_COLUMNS])
    length = 0
    for k in range(state[_COUNT]):
        if state[MOVES + k] & 1:
            key[length] = state[MOVES + k]
            length += 1
        elif shows_tries:
            key[length] = in_vain
            length += 1
    return length


@compiled
def _world_key(settings, state, key):
    shows = settings[_IS_HEX] != 0.0 or settings[_SHOWS_TURNS] != 0.0
    return world_of(settings, state, key, shows or settings[_IS_ABRUPT] != 0.0)


@compiled
def position_key(settings, state, key):
    """`Description.position_key`: whose turn it is, and the stones."""
    key[0], key[1], key[2] = state[_TURN], state[_STONES], state[_STONES + 1]
    return 3


@compiled
def heard_of(settings, state, player, shows_turns):
    """Whether the own last move succeeded and, where turns are shown, twice the number
    of the other's moves since then."""
    moves = 2 * int(settings[_ROWS]) * int(settings[_COLUMNS])
    last = state[_COUNT] - 1
    k = last
    while k >= 0 and state[MOVES + k] // moves != player:
        k -= 1
    heard = 2 * (last - k) if shows_turns else 0
    return heard + (state[MOVES + k] & 1 if k >= 0 else 0)


@compiled
def _heard(settings, state, player):
    shows = settings[_IS_HEX] != 0.0 or settings[_SHOWS_TURNS] != 0.0
    return heard_of(settings, state, player, shows)


@compiled
def moves_known(settings, state, player, key, first, shows_turns):
    """Writes from `first` on what a player knows: the own moves in order, each with its
    answer, and a 0 for each of the other's if turns are shown. Returns the length with
    these."""
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    length = first
    for k in range(state[_COUNT]):
        move = state[MOVES + k] - 2 * cells * player
        is_own = 0 <= move < 2 * cells
        if is_own or shows_turns:
            key[length] = 1 + move if is_own else 0
            length += 1
    return length


@compiled
def _info_key(settings, state, player, key):
    """In dark hex the number of all moves comes first, which is shown in any case."""
    is_hex, shows = settings[_IS_HEX] != 0.0, settings[_SHOWS_TURNS] != 0.0
    if is_hex:
        key[0] = state[_COUNT]
    return moves_known(settings, state, player, key, int(is_hex), shows)


@compiled
def returns(settings, state, values):
    """`Rules.returns`: 1 for the winner, -1 for the other."""
    if state[_WINNER] != _DRAW:
        winner = state[_WINNER] - 1
        values[winner] = 1.0
        values[1 - winner] = -1.0


_SPACE, _NEWLINE, _COMMA, _UNKNOWN = map(word, " \n,?")


@compiled
def _put_board(settings, text, at, player, key, first, length):
    rows = int(settings[_ROWS])
    columns = int(settings[_COLUMNS])
    for row in range(rows):
        for column in range(columns):
            text[at + row * (columns + 1) + column] = 46  # a dot
        text[at + row * (columns + 1) + columns] = 10  # the end of the line
    for k in range(first, length):
        if key[k] > 0:
            cell = (key[k] - 1) // 2
            owner = player if (key[k] - 1) % 2 == 1 else 1 - player
            mark = 120 if owner == 0 else 111  # x and o
            text[at + cell // columns * (columns + 1) + cell % columns] = mark
    return at + rows * (columns + 1)


@compiled
def _spell(settings, player, key, length, text):
    first = 1 if settings[_IS_HEX] != 0.0 else 0
    at = _put_board(settings, text, 0, player, key, first, length)
    if first == 1 or settings[_SHOWS_TURNS] != 0.0:
        at = put_number(text, at, key[0] if first == 1 else length)
        at = put(text, at, _NEWLINE)
    for k in range(first, length):
        at = put_number(text, at, player if key[k] > 0 else 1 - player)
        at = put(text, at, _COMMA)
        if key[k] > 0:
            at = put_number(text, at, (key[k] - 1) // 2)
        else:
            at = put(text, at, _UNKNOWN)
        at = put(text, at, _SPACE)
    return at


MOST_CELLS = 49
"""A set of cells, shifted by a row, must fit 63 bits."""

_SHOWN = {"reveal-nothing": False, "reveal-numturns": True}
_ABRUPT = {"classical": False, "abrupt": True, "cdh": False, "adh": True}


def phantom_ttt(obstype: str, gameversion: str) -> Twin | None:
    """The twin of phantom_ttt for OpenSpiel's parameters."""
    return _twin(False, 3, 3, gameversion, obstype)


def dark_hex(
    obstype: str, gameversion: str, board_size: int, num_cols: int, num_rows: int
) -> Twin | None:
    """The twin of dark_hex for OpenSpiel's parameters, with up to 49 cells.

    There is none for a single row or column: on such boards OpenSpiel's game misses
    wins and ends up with a player who has no action. OpenSpiel takes `board_size` for
    numbers that are not given, and gives both.
    """
    if min(num_rows, num_cols) < 2 or num_rows * num_cols > MOST_CELLS:
        return None
    return _twin(True, num_rows, num_cols, gameversion, obstype)


def _twin(
    is_hex: bool, rows: int, columns: int, version: str, shown: str
) -> Twin | None:
    if version not in _ABRUPT or shown not in _SHOWN:
        return None
    cells, shows = rows * columns, _SHOWN[shown]
    longest = 2 * cells - 1
    return Twin(
        globals(),
        (rows, columns, is_hex, _ABRUPT[version], shows),
        state=MOVES + longest,
        key=is_hex + (longest if shows else cells),
        text_size=cells + rows + 8 + 8 * longest,
    )
