"""The twin of OpenSpiel's battleship.

Two players place their ships in secret, one ship each in turn, and then shoot at each
other's board in turn. A ship is sunk when all of its cells are hit. The game ends after
the last shot or when all ships of a player are sunk. A player earns the values of the
other's sunk ships and pays those of the own ones, times a multiplier.
"""

import re

import numpy as np

from mccfr_spiel.arenas.rules.description import TERMINAL, compiled
from mccfr_spiel.arenas.rules.kernel import put, put_labeled, put_number, word
from mccfr_spiel.arenas.rules.twins.twin import Twin, add_member, has_member, parts_of

_CELLS, _COLUMNS, _PARTS, _SETS, _SHOTS, _REPEATS, _MULTIPLIER, _SHIPS = range(8)
_OF_SHIPS = 8
# In settings, where _PARTS says how many numbers a set of cells takes, and _SETS where
# the state has the first; last come the lengths of the ships and their values.
# The state has the number of moves, then how many cells of each player's ships are not
# hit, then each move: for a placement its action, for a shot 3 * cell + the outcome.
# Then come the sets of cells that each player has shot at, and that each one's ships
# cover.
_COUNT, _AFLOAT, _MOVES = 0, 1, 3
_WATER, _HIT, _SUNK = range(3)


@compiled
def _shot_at(settings, player):
    """Where the state keeps the cells that a player has shot at."""
    return int(settings[_SETS]) + int(settings[_PARTS]) * player


@compiled
def _covered_by(settings, player):
    """Where the state keeps the cells that a player's ships cover."""
    return _shot_at(settings, 2 + player)


@compiled
def _step(settings, ship, action):
    """How far the cells of a ship are apart after an action; 0 if it does not fit."""
    cells, columns = int(settings[_CELLS]), int(settings[_COLUMNS])
    length, cell = int(settings[_OF_SHIPS + ship]), action % cells
    if action >= 2 * cells:  # vertical
        return columns if length > 1 and cell + (length - 1) * columns < cells else 0
    return 1 if cell % columns + length <= columns else 0


@compiled
def _cells_in(settings, numbers, at, ship, action):
    """How many cells of a ship are in a set; -1 if it does not fit the board."""
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
    """Adds a ship's cells to a set."""
    cell, step = action % int(settings[_CELLS]), _step(settings, ship, action)
    for _ in range(int(settings[_OF_SHIPS + ship])):
        add_member(numbers, at, cell)
        cell += step


@compiled
def _can_place(settings, tried, taken, first):
    """Whether the ships from number `first` on fit the cells that are not taken.

    The search goes depth first. One pass of the loop looks for the next place of one
    ship; it goes on to the next ship, or back to the one before if there is none.

    Args:
        settings: the game's.
        tried: `[ships + 1]` a buffer for the places of each ship that were tried.
        taken: `[(ships + 1) * numbers]` for each ship the cells taken before it, of
            which those before the first one are given.
        first: the first ship.
    """
    ships, cells = int(settings[_SHIPS]), int(settings[_CELLS])
    numbers, ship = int(settings[_PARTS]), first
    tried[ship] = 0
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
    """The ship of a player that covers a cell; -1 for none."""
    for ship in range(int(settings[_SHIPS])):
        action = state[_MOVES + 2 * ship + player]
        away = cell - action % int(settings[_CELLS])
        step = _step(settings, ship, action)
        last = (int(settings[_OF_SHIPS + ship]) - 1) * step
        if 0 <= away <= last and away % step == 0:
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
    """The own placements, then all shots; of the other's only the cell is known."""
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
    """The shots with their outcomes; of placements only that they were made."""
    ships = int(settings[_SHIPS])
    for k in range(state[_COUNT]):
        key[k] = 0 if k < 2 * ships else state[_MOVES + k]
    return state[_COUNT]


@compiled
def _leaf_class(settings, state, player):
    """The set of a player's ships that are sunk."""
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


_MOST_MOVES = 32_000
"""Walks without a tree follow histories of this length."""

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
    """The twin for OpenSpiel's parameters, but for histories of more than 32,000 moves.

    OpenSpiel's boards have at most 10 rows and columns.
    """
    if not all(map(_NUMBERS.fullmatch, (ship_sizes, ship_values))):
        return None
    lengths, worths = (text[1:-1].split(";") for text in (ship_sizes, ship_values))
    cells, ships = board_height * board_width, len(lengths)
    moves = 2 * ships + 2 * num_shots
    if "0" in lengths or moves > _MOST_MOVES:
        return None
    parts = parts_of(cells)
    board = cells, board_width, parts, _MOVES + moves
    rules = num_shots, allow_repeated_shots, loss_multiplier, ships
    return Twin(
        globals(),
        (*board, *rules, *map(int, lengths), *map(float, worths)),
        state=_MOVES + moves + 4 * parts,
        key=ships + 2 * num_shots,
        text_size=12 + 8 * ships + 2 * 16 * num_shots,
    )
