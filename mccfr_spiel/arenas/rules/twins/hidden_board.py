"""The twins of OpenSpiel's phantom_ttt and dark_hex.

Two players put stones on a board in turn without seeing the opponent's stones. A player
who picks an occupied cell learns this and moves again, or in the abrupt version loses
the turn. In phantom tic-tac-toe three stones in a line win. In dark hex, player 0 wins
by connecting top and bottom, player 1 by connecting left and right.
"""

from mccfr_spiel.arenas.rules.game_description import TERMINAL, compiled, write_members
from mccfr_spiel.arenas.rules.spelling import put, put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin

_ROWS, _COLUMNS, _IS_HEX, _IS_ABRUPT, _SHOWS_TURNS = range(5)
"""Entries of `settings`:

_ROWS: number of rows.
_COLUMNS: number of columns.
_IS_HEX: 1 for dark hex.
_IS_ABRUPT: 1 for the abrupt version.
_SHOWS_TURNS: 1 if players see the number of moves.
"""

_TURN, _WINNER, _COUNT, _STONES, _KNOWN, MOVES = 0, 1, 2, 3, 5, 7
"""Entries of the state:

_TURN: acting player.
_WINNER: winner + 1; `_DRAW` for a draw.
_COUNT: number of moves.
_STONES: `[2]` bit sets of the players' stones.
_KNOWN: `[2]` bit sets of cells that the players know to be occupied.
MOVES: `[moves]` per move, 2 * cell, plus 1 if the cell was free (a successful move),
plus 2 * (number of cells) for player 1.
"""

_DRAW = 3
_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
"""Lines of tic-tac-toe as bit sets of cells."""


@compiled
def acting(settings, state):
    """`Rules.acting`."""
    return TERMINAL if state[_WINNER] != 0 else state[_TURN]


@compiled
def legal_actions(settings, state, actions):
    """`Rules.legal_actions`: all cells that the player does not know to be occupied."""
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
    """Returns whether the stones connected to a cell reach both sides of the player.

    The six neighbors of a cell are left, right, above, above right, below and below
    left.
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
    # Each pass of the loop adds the stones that are neighbors of reached cells. It ends
    # when there are none.
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
    """Applies a move; reads only the numbers of rows and columns in `settings`."""
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
    """Writes the world key: the successful moves in order, as in the state.

    The cell of a failed move (on an occupied cell) is private. If the opponent learns
    that a move failed (`shows_tries`), the key contains an element for it, without the
    cell. Returns the length of the key.
    """
    failed = 4 * int(settings[_ROWS]) * int(settings[_COLUMNS])
    length = 0
    for k in range(state[_COUNT]):
        if state[MOVES + k] & 1:
            key[length] = state[MOVES + k]
            length += 1
        elif shows_tries:
            key[length] = failed
            length += 1
    return length


@compiled
def _world_key(settings, state, key):
    shows = settings[_IS_HEX] != 0.0 or settings[_SHOWS_TURNS] != 0.0
    return world_of(settings, state, key, shows or settings[_IS_ABRUPT] != 0.0)


@compiled
def position_key(settings, state, key):
    """`Description.position_key`: the acting player and the stones."""
    key[0], key[1], key[2] = state[_TURN], state[_STONES], state[_STONES + 1]
    return 3


@compiled
def heard_of(settings, state, player, shows_turns):
    """`Description.heard`: 1 if the player's last move succeeded, else 0.

    With `shows_turns`, twice the number of the opponent's later moves is added.
    """
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
    """Writes the player's own moves, with their success, from key[first] on.

    With `shows_turns`, it also writes 0 for each move of the opponent. Returns the
    length of the key.
    """
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
    """Writes the number of moves (only in dark hex, where players always see it), then
    the moves by `moves_known`.
    """
    is_hex, shows = settings[_IS_HEX] != 0.0, settings[_SHOWS_TURNS] != 0.0
    if is_hex:
        key[0] = state[_COUNT]
    return moves_known(settings, state, player, key, int(is_hex), shows)


@compiled
def returns(settings, state, values):
    """`Rules.returns`: 1 for the winner, -1 for the loser."""
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
            text[at + row * (columns + 1) + column] = 46  # .
        text[at + row * (columns + 1) + columns] = 10  # newline
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


MAX_CELLS = 49
"""A bit set of cells, shifted by one row, must fit 63 bits."""

_SHOWN = {"reveal-nothing": False, "reveal-numturns": True}
_ABRUPT = {"classical": False, "abrupt": True, "cdh": False, "adh": True}


def phantom_ttt(obstype: str, gameversion: str) -> Twin | None:
    """Builds the twin of phantom_ttt from OpenSpiel's parameters."""
    return _twin(False, 3, 3, gameversion, obstype)


def dark_hex(
    obstype: str, gameversion: str, board_size: int, num_cols: int, num_rows: int
) -> Twin | None:
    """Builds the twin of dark_hex from OpenSpiel's parameters, for up to 49 cells.

    Returns None for a single row or column, because on such boards OpenSpiel's game
    misses wins and reaches states without actions. `board_size` is ignored, because
    OpenSpiel always fills in `num_rows` and `num_cols`.
    """
    if min(num_rows, num_cols) < 2 or num_rows * num_cols > MAX_CELLS:
        return None
    return _twin(True, num_rows, num_cols, gameversion, obstype)


def _twin(
    is_hex: bool, rows: int, columns: int, version: str, observation: str
) -> Twin | None:
    if version not in _ABRUPT or observation not in _SHOWN:
        return None
    cells, shows = rows * columns, _SHOWN[observation]
    longest = 2 * cells - 1
    return Twin(
        globals(),
        (rows, columns, is_hex, _ABRUPT[version], shows),
        state=MOVES + longest,
        key=is_hex + (longest if shows else cells),
        text_size=cells + rows + 8 + 8 * longest,
    )
