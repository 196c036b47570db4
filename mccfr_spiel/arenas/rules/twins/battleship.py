"""The twin of OpenSpiel's battleship.

Two players secretly place their ships, one ship each in turn, and then shoot at each
other's board in turn. A ship is sunk when all its cells are hit. The game ends after
the last shot or when all ships of a player are sunk. A player receives the values of
the opponent's sunk ships, minus a multiple of the values of the player's sunk ships.
"""

import re

import numpy as np

from mccfr_spiel.arenas.rules.game_description import TERMINAL, compiled
from mccfr_spiel.arenas.rules.spelling import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.buffers import add_member, has_member, parts_of
from mccfr_spiel.arenas.rules.twins.twin import Twin

_CELLS, _COLUMNS, _PARTS, _SETS, _SHOTS, _REPEATS, _MULTIPLIER, _SHIPS = range(8)
_OF_SHIPS = 8
"""Entries of `settings`:

_CELLS: number of cells of the board.
_COLUMNS: number of columns.
_PARTS: number of integers that store a set of cells, see `buffers.parts_of`.
_SETS: index of the first set of cells in the state.
_SHOTS: shots per player.
_REPEATS: 1 if shots may be repeated.
_MULTIPLIER: loss multiplier.
_SHIPS: number of ships.
_OF_SHIPS: `[ships]` lengths, followed by `[ships]` values.
"""

_COUNT, _AFLOAT, _MOVES = 0, 1, 3
"""Entries of the state:

_COUNT: number of moves.
_AFLOAT: `[2]` number of cells of each player's ships that have not been hit.
_MOVES: `[moves]` per move, the action of a placement, or 3 * cell + outcome of a shot.

At index settings[_SETS] follow four sets of cells: shots of player 0, shots of player
1, ships of player 0, ships of player 1.
"""

_WATER, _HIT, _SUNK = range(3)


@compiled
def _shot_at(settings, player):
    """Returns the index in the state of the set of cells that a player has shot at."""
    return int(settings[_SETS]) + int(settings[_PARTS]) * player


@compiled
def _covered_by(settings, player):
    """Returns the index in the state of the set of cells with a player's ships."""
    return _shot_at(settings, 2 + player)


@compiled
def _step(settings, ship, action):
    """Returns the difference of the numbers of consecutive cells of a placed ship; 0 if
    the ship does not fit on the board.
    """
    cells, columns = int(settings[_CELLS]), int(settings[_COLUMNS])
    length, cell = int(settings[_OF_SHIPS + ship]), action % cells
    if action >= 2 * cells:  # vertical
        return columns if length > 1 and cell + (length - 1) * columns < cells else 0
    return 1 if cell % columns + length <= columns else 0


@compiled
def _cells_in(settings, numbers, at, ship, action):
    """Returns how many cells of a ship, placed by `action`, are in the set at
    numbers[at]; -1 if the ship does not fit on the board.
    """
    cell, step = action % int(settings[_CELLS]), _step(settings, ship, action)
    if step == 0:
        return -1
    count = 0
    for _ in range(int(settings[_OF_SHIPS + ship])):
        count += int(has_member(numbers, at, cell))
        cell += step
    return count


@compiled
def _cover(settings, numbers, at, ship, action):
    """Adds the cells of a ship, placed by `action`, to the set at numbers[at]."""
    cell, step = action % int(settings[_CELLS]), _step(settings, ship, action)
    for _ in range(int(settings[_OF_SHIPS + ship])):
        add_member(numbers, at, cell)
        cell += step


@compiled
def _can_place(settings, tried, taken, first):
    """Returns whether all ships from `first` on can be placed on the free cells.

    Args:
        settings: settings of the game.
        tried: `[ships + 1]` buffer for the number of placements tried for each ship.
        taken: `[(ships + 1) * parts]` per ship, the set of cells that the ships before
            it cover. The caller writes the set of the ship `first`; the others are a
            buffer.
        first: first ship to place.
    """
    ships, cells = int(settings[_SHIPS]), int(settings[_CELLS])
    numbers, ship = int(settings[_PARTS]), first
    tried[ship] = 0
    # Depth-first search. Invariant: the ships first .. ship - 1 are placed. Each pass
    # of the loop tries the next placement of `ship`, or backtracks if none is left. It
    # ends when all ships are placed, or when no placement of the first ship is left.
    while first <= ship < ships:
        at = numbers * ship
        action = cells + tried[ship]
        while action < 3 * cells and _cells_in(settings, taken, at, ship, action):
            action += 1
        tried[ship] = action + 1 - cells
        if action == 3 * cells:
            ship -= 1
            continue
        for k in range(numbers):
            taken[at + numbers + k] = taken[at + k]
        _cover(settings, taken, at + numbers, ship, action)
        ship += 1
        tried[ship] = 0
    return ship == ships


@compiled
def _acting(settings, state):
    placements = 2 * int(settings[_SHIPS])
    count = state[_COUNT]
    if count < placements:
        return count % 2
    if count == placements + 2 * int(settings[_SHOTS]):
        return TERMINAL
    if state[_AFLOAT] == 0 or state[_AFLOAT + 1] == 0:
        return TERMINAL
    return count % 2


@compiled
def _legal_actions(settings, state, actions):
    cells, ships = int(settings[_CELLS]), int(settings[_SHIPS])
    ship, player = state[_COUNT] // 2, state[_COUNT] % 2
    numbers, count = int(settings[_PARTS]), 0
    if ship >= ships:
        at = _shot_at(settings, player)
        for cell in range(cells):
            if settings[_REPEATS] != 0.0 or not has_member(state, at, cell):
                actions[count] = cell
                count += 1
        return count
    covered = _covered_by(settings, player)
    tried = np.zeros(ships + 1, np.int64)
    taken = np.zeros((ships + 1) * numbers, np.int64)
    after = numbers * (ship + 1)
    for action in range(cells, 3 * cells):
        if _cells_in(settings, state, covered, ship, action) != 0:
            continue
        for k in range(numbers):
            taken[after + k] = state[covered + k]
        _cover(settings, taken, after, ship, action)
        if _can_place(settings, tried, taken, ship + 1):
            actions[count] = action
            count += 1
    return count


@compiled
def _is_sunk(settings, state, player, ship):
    action, shot_at = state[_MOVES + 2 * ship + player], _shot_at(settings, 1 - player)
    hit = _cells_in(settings, state, shot_at, ship, action)
    return hit == int(settings[_OF_SHIPS + ship])


@compiled
def _ship_on(settings, state, player, cell):
    """Returns the number of the player's ship on a cell; -1 if there is none."""
    for ship in range(int(settings[_SHIPS])):
        action = state[_MOVES + 2 * ship + player]
        offset = cell - action % int(settings[_CELLS])
        step = _step(settings, ship, action)
        last = (int(settings[_OF_SHIPS + ship]) - 1) * step
        if 0 <= offset <= last and offset % step == 0:
            return ship
    return -1


@compiled
def _apply_action(settings, state, action):
    ship, player = state[_COUNT] // 2, state[_COUNT] % 2
    move = _MOVES + state[_COUNT]
    state[_COUNT] += 1
    if ship < int(settings[_SHIPS]):
        _cover(settings, state, _covered_by(settings, player), ship, action)
        state[_AFLOAT + player] += int(settings[_OF_SHIPS + ship])
        state[move] = action
        return
    other, shot_at = 1 - player, _shot_at(settings, player)
    is_new = not has_member(state, shot_at, action)
    add_member(state, shot_at, action)
    outcome, hit = _WATER, _ship_on(settings, state, other, action)
    if hit >= 0:
        state[_AFLOAT + other] -= int(is_new)
        outcome = _SUNK if _is_sunk(settings, state, other, hit) else _HIT
    state[move] = 3 * action + outcome


@compiled
def _info_key(settings, state, player, key):
    """Writes the player's own placements, then all shots in order: own shots with their
    outcomes, shots of the opponent without.
    """
    ships, length = int(settings[_SHIPS]), 0
    for k in range(state[_COUNT]):
        move = state[_MOVES + k]
        if k % 2 == player:
            key[length] = move
            length += 1
        elif k >= 2 * ships:
            key[length] = move // 3
            length += 1
    return length


@compiled
def _world_key(settings, state, key):
    """Writes 0 for each placement, then all shots with their outcomes."""
    ships = int(settings[_SHIPS])
    for k in range(state[_COUNT]):
        key[k] = 0 if k < 2 * ships else state[_MOVES + k]
    return state[_COUNT]


@compiled
def _leaf_class(settings, state, player):
    """Returns the bit set of a player's sunk ships."""
    sunk = 0
    for ship in range(int(settings[_SHIPS])):
        if _is_sunk(settings, state, player, ship):
            sunk |= 1 << ship
    return sunk


@compiled
def _damage(settings, sunk):
    damage = 0.0
    for ship in range(int(settings[_SHIPS])):
        if sunk >> ship & 1:
            damage += settings[_OF_SHIPS + int(settings[_SHIPS]) + ship]
    return damage


@compiled
def _class_returns(settings, state, class0, class1, returns):
    first, second = _damage(settings, class0), _damage(settings, class1)
    returns[0] = second - settings[_MULTIPLIER] * first
    returns[1] = first - settings[_MULTIPLIER] * second


@compiled
def _returns(settings, state, returns):
    first, second = _leaf_class(settings, state, 0), _leaf_class(settings, state, 1)
    _class_returns(settings, state, first, second, returns)


_TIME, _SHOT_AT, _SHOT_BY = map(word, ("T=", "/shot_", "/oppshot_"))
_DOWN, _ACROSS, _BETWEEN, _SPACE = map(word, ("/v_", "/h_", "_", " "))
_OUTCOMES = tuple(map(word, (":W", ":H", ":S")))


@compiled
def _put_cell(settings, text, at, cell):
    columns = int(settings[_COLUMNS])
    at = put_number(text, at, cell // columns)
    return put_labeled(text, at, _BETWEEN, cell % columns)


@compiled
def _spell(settings, player, key, length, text):
    ships, cells = int(settings[_SHIPS]), int(settings[_CELLS])
    moves = 2 * length + player if length < ships else ships + length
    at = put(text, put_labeled(text, 0, _TIME, moves), _SPACE)
    for k in range(min(ships, length)):
        at = put(text, at, _DOWN if key[k] >= 2 * cells else _ACROSS)
        at = _put_cell(settings, text, at, key[k] % cells)
    for k in range(ships, length):
        if (k - ships) % 2 == player:
            at = put(text, at, _SHOT_AT)
            at = _put_cell(settings, text, at, key[k] // 3)
            at = put(text, at, _OUTCOMES[key[k] % 3])
        else:
            at = put(text, at, _SHOT_BY)
            at = _put_cell(settings, text, at, key[k])
    return at


_MAX_MOVES = 32_000
"""Walks over rules follow histories up to this length."""

_NUMBERS = re.compile(r"\[[0-9.]+(;[0-9.]+)*\]")


def twin(
    board_width: int,
    board_height: int,
    ship_sizes: str,
    ship_values: str,
    num_shots: int,
    allow_repeated_shots: bool,
    loss_multiplier: float,
) -> Twin | None:
    """Builds the twin from OpenSpiel's parameters, for histories of up to 32,000 moves.

    OpenSpiel's boards have at most 10 rows and columns.
    """
    if not all(map(_NUMBERS.fullmatch, (ship_sizes, ship_values))):
        return None
    lengths, values = (text[1:-1].split(";") for text in (ship_sizes, ship_values))
    cells, ships = board_height * board_width, len(lengths)
    moves = 2 * ships + 2 * num_shots
    if "0" in lengths or moves > _MAX_MOVES:
        return None
    parts = parts_of(cells)
    board = cells, board_width, parts, _MOVES + moves
    rules = num_shots, allow_repeated_shots, loss_multiplier, ships
    return Twin(
        globals(),
        (*board, *rules, *map(int, lengths), *map(float, values)),
        state=_MOVES + moves + 4 * parts,
        key=ships + 2 * num_shots,
        text_size=12 + 8 * ships + 2 * 16 * num_shots,
    )
