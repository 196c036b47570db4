"""The twin of OpenSpiel's battleship, for boards of up to 62 cells.

Two players place their ships in secret, one ship each in turn, and then shoot at each
other's board in turn. A ship is sunk when all of its cells are hit. The game ends after
the last shot or when all ships of a player are sunk. A player earns the values of the
other's sunk ships and pays those of the own ones, times a multiplier.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mccfr_spiel.rules.description import TERMINAL, Rules, compiled
from mccfr_spiel.twins.defaults import (
    no_chance_probs,
    sizes_without_chance,
    start_from_zeros,
)
from mccfr_spiel.twins.spelling import put, put_number, word
from mccfr_spiel.twins.twin import Twin, make_twin

_ROWS, _COLUMNS, _SHOTS, _REPEATS, _MULTIPLIER, _SHIPS, _OF_SHIPS = range(7)
# In settings; then come the lengths of the ships and their values. The state has the
# number of moves, the cells that each player has shot at and those that each player's
# ships cover, as sets of bits; then each move, then each ship's cells, first those of
# player 0's. A shot is 3 * cell + the outcome, a placement its action.
_COUNT, _SHOT, _COVERED, _MOVES = 0, 1, 3, 5
_WATER, _HIT, _SUNK = range(3)


@compiled
def _ship_at(settings, player, ship):
    """Where the state keeps the cells of a ship."""
    ships = int(settings[_SHIPS])
    moves = 2 * ships + 2 * int(settings[_SHOTS])
    return _MOVES + moves + ships * player + ship


@compiled
def _cells_of(settings, ship, action):
    """The cells that a ship covers after an action, 0 if it does not fit the board."""
    rows = int(settings[_ROWS])
    columns = int(settings[_COLUMNS])
    length = int(settings[_OF_SHIPS + ship])
    cell = action % (rows * columns)
    is_vertical = action >= 2 * rows * columns
    if is_vertical and (length == 1 or cell // columns + length > rows):
        return 0
    if not is_vertical and cell % columns + length > columns:
        return 0
    step = columns if is_vertical else 1
    covered = 0
    for k in range(length):
        covered |= 1 << cell + k * step
    return covered


@compiled
def _can_place(settings, covered, first):
    """Whether the ships from number `first` on fit the cells that are not covered.

    The search goes depth first. One pass of the loop looks for the next place of one
    ship; it goes on to the next ship, or back to the one before if there is none.
    """
    ships = int(settings[_SHIPS])
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    tried = np.zeros(ships + 1, np.int64)
    taken = np.zeros(ships + 1, np.int64)
    taken[first] = covered
    ship = first
    while first <= ship < ships:
        found = 0
        while found == 0 and tried[ship] < 2 * cells:
            found = _cells_of(settings, ship, cells + tried[ship])
            if found & taken[ship] != 0:
                found = 0
            tried[ship] += 1
        if found == 0:
            ship -= 1
            continue
        taken[ship + 1] = taken[ship] | found
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
    for player in range(2):
        covered = state[_COVERED + player]
        if covered & state[_SHOT + 1 - player] == covered:
            return TERMINAL
    return count % 2


@compiled
def _legal_actions(settings, state, actions):
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    player = state[_COUNT] % 2
    ship = state[_COUNT] // 2
    count = 0
    if ship >= int(settings[_SHIPS]):
        for cell in range(cells):
            if settings[_REPEATS] != 0.0 or not state[_SHOT + player] >> cell & 1:
                actions[count] = cell
                count += 1
        return count
    taken = state[_COVERED + player]
    for action in range(cells, 3 * cells):
        covered = _cells_of(settings, ship, action)
        if (
            covered != 0
            and covered & taken == 0
            and _can_place(settings, covered | taken, ship + 1)
        ):
            actions[count] = action
            count += 1
    return count


@compiled
def _apply_action(settings, state, action):
    player = state[_COUNT] % 2
    ship = state[_COUNT] // 2
    move = _MOVES + state[_COUNT]
    state[_COUNT] += 1
    if ship < int(settings[_SHIPS]):
        covered = _cells_of(settings, ship, action)
        state[_ship_at(settings, player, ship)] = covered
        state[_COVERED + player] |= covered
        state[move] = action
        return
    state[_SHOT + player] |= 1 << action
    outcome = _WATER
    for other in range(int(settings[_SHIPS])):
        covered = state[_ship_at(settings, 1 - player, other)]
        if covered >> action & 1:
            is_sunk = covered & state[_SHOT + player] == covered
            outcome = _SUNK if is_sunk else _HIT
    state[move] = 3 * action + outcome


@compiled
def _info_key(settings, state, player, key):
    """The own placements, then all shots; of the other's only the cell is known."""
    ships = int(settings[_SHIPS])
    length = 0
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
def _damage(settings, state, player):
    damage = 0.0
    for ship in range(int(settings[_SHIPS])):
        covered = state[_ship_at(settings, player, ship)]
        if covered & state[_SHOT + 1 - player] == covered:
            damage += settings[_OF_SHIPS + int(settings[_SHIPS]) + ship]
    return damage


@compiled
def _returns(settings, state, returns):
    first = _damage(settings, state, 0)
    second = _damage(settings, state, 1)
    returns[0] = second - settings[_MULTIPLIER] * first
    returns[1] = first - settings[_MULTIPLIER] * second


_TIME, _SHOT_AT, _SHOT_BY = map(word, ("T=", "/shot_", "/oppshot_"))


@compiled
def _put_cell(settings, text, at, cell):
    columns = int(settings[_COLUMNS])
    at = put_number(text, at, cell // columns)
    text[at] = 95  # an underscore
    return put_number(text, at + 1, cell % columns)


@compiled
def _spell(settings, player, key, length, text):
    ships = int(settings[_SHIPS])
    cells = int(settings[_ROWS]) * int(settings[_COLUMNS])
    at = put(text, 0, _TIME)
    if length < ships:
        at = put_number(text, at, 2 * length + player)
    else:
        at = put_number(text, at, ships + length)
    text[at] = 32  # a space
    at += 1
    for k in range(min(ships, length)):
        text[at] = 47  # a slash
        text[at + 1] = 118 if key[k] >= 2 * cells else 104  # v and h
        text[at + 2] = 95
        at = _put_cell(settings, text, at + 3, key[k] % cells)
    for k in range(ships, length):
        if (k - ships) % 2 == player:
            at = put(text, at, _SHOT_AT)
            at = _put_cell(settings, text, at, key[k] // 3)
            text[at] = 58  # a colon
            outcome = key[k] % 3
            if outcome == _WATER:
                text[at + 1] = 87  # W
            else:
                text[at + 1] = 72 if outcome == _HIT else 83  # H and S
            at += 2
        else:
            at = put(text, at, _SHOT_BY)
            at = _put_cell(settings, text, at, key[k])
    return at


_RULES = Rules(
    start=start_from_zeros,
    acting=_acting,
    legal_actions=_legal_actions,
    chance_probs=no_chance_probs,
    apply_action=_apply_action,
    info_key=_info_key,
    returns=_returns,
)
_MOST_CELLS = 62
"""A set of cells must fit a number of the state."""

_NUMBERS = re.compile(r"\[[0-9.]+(;[0-9.]+)*\]")


def twin(parameters: Mapping[str, Any]) -> Twin | None:
    """The twin for OpenSpiel's parameters; for larger boards there is none."""
    names = {
        *("board_width", "board_height", "ship_sizes", "ship_values", "num_shots"),
        *("allow_repeated_shots", "loss_multiplier"),
    }
    if set(parameters) != names:
        return None
    columns, rows = int(parameters["board_width"]), int(parameters["board_height"])
    lists = parameters["ship_sizes"], parameters["ship_values"]
    cells, shots = rows * columns, int(parameters["num_shots"])
    if not 1 <= cells <= _MOST_CELLS or not all(map(_NUMBERS.fullmatch, lists)):
        return None
    lengths, worths = (text[1:-1].split(";") for text in lists)
    if "0" in lengths:
        return None
    ships = len(lengths)
    values: dict[str, Any] = {
        "rows": rows,
        "columns": columns,
        "num_shots": shots,
        "allow_repeated_shots": bool(parameters["allow_repeated_shots"]),
        "loss_multiplier": float(parameters["loss_multiplier"]),
        "ships": ships,
    }
    values |= {f"length_{ship}": int(text) for ship, text in enumerate(lengths)}
    values |= {f"value_{ship}": float(text) for ship, text in enumerate(worths)}
    moves = 2 * ships + 2 * shots
    sizes = sizes_without_chance(
        state=_MOVES + moves + 2 * ships,
        num_actions=3 * cells,
        max_moves=moves,
        key=(3 * cells,) * (ships + 2 * shots),
    )
    return make_twin(
        "battleship",
        num_players=2,
        values=values,
        sizes=sizes,
        rules=_RULES,
        spell=_spell,
        text_size=12 + 8 * ships + 2 * 16 * shots,
    )
