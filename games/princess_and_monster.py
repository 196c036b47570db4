"""Princess and Monster (Isaacs 1965; Lanctot et al. 2009): pursuit in a dark room.

Chance places player 0 and then player 1 on any cells of a grid; the same starting cell
is no capture. The players then move in turn, player 0 first, to a neighboring cell or
stay, and see only their own moves. The game ends when a move brings both players to one
cell, or after `horizon` - 2 moves. The evader receives the number of moves survived,
without the capturing move, and the pursuer pays it. An action is the target cell.
"""

import numpy as np

from mccfr_spiel.arenas.rules.game import register
from mccfr_spiel.arenas.rules.game_description import (
    CHANCE,
    TERMINAL,
    Parameter,
    Sizes,
    compiled,
    described,
)

_ROWS, _COLS, _HORIZON, _EVADER = range(4)
"""Entries of `settings`, in the order of the parameters."""

_COUNT, _CELLS = 0, 1
"""Entries of the state:

_COUNT: number of cells so far.
_CELLS: `[horizon]` start cells, followed by the target of each move; those of player 0
    have even indices.
"""

_NUM_STARTS = 2


@compiled
def _is_captured(state):
    count = state[_COUNT]
    last = _CELLS + count - 1
    return count > _NUM_STARTS and state[last] == state[last - 1]


@compiled
def _acting(settings, state):
    count = state[_COUNT]
    if count < _NUM_STARTS:
        return CHANCE
    if count == int(settings[_HORIZON]) or _is_captured(state):
        return TERMINAL
    return count % 2


@compiled
def _legal_actions(settings, state, actions):
    rows = int(settings[_ROWS])
    cols = int(settings[_COLS])
    count = 0
    if state[_COUNT] < _NUM_STARTS:
        for cell in range(rows * cols):
            actions[cell] = cell
        return rows * cols
    cell = state[_CELLS + state[_COUNT] - 2]
    if cell >= cols:
        actions[count] = cell - cols
        count += 1
    if cell % cols > 0:
        actions[count] = cell - 1
        count += 1
    actions[count] = cell
    count += 1
    if cell % cols < cols - 1:
        actions[count] = cell + 1
        count += 1
    if cell < (rows - 1) * cols:
        actions[count] = cell + cols
        count += 1
    return count


@compiled
def _apply_action(settings, state, action):
    state[_CELLS + state[_COUNT]] = action
    state[_COUNT] += 1


@compiled
def _info_key(settings, state, player, key):
    length = 0
    for k in range(player, state[_COUNT], 2):
        key[length] = state[_CELLS + k]
        length += 1
    return length


@compiled
def _returns(settings, state, returns):
    evader = int(settings[_EVADER])
    survived = state[_COUNT] - _NUM_STARTS - int(_is_captured(state))
    returns[evader] = survived
    returns[1 - evader] = -survived


def _sizes(parameters):
    cells = int(parameters["rows"]) * int(parameters["cols"])
    if cells < 2:
        raise ValueError(
            "python_princess_and_monster: rows * cols = 1; the board must have at "
            "least two cells."
        )
    horizon = int(parameters["horizon"])
    moves = horizon - _NUM_STARTS
    return Sizes(
        state=_CELLS + horizon,
        num_actions=cells,
        max_chance_outcomes=cells,
        max_moves=moves,
        max_chance_moves=_NUM_STARTS,
        key=(cells,) * (1 + (moves + 1) // 2),
        min_utility=-float(moves),
        max_utility=float(moves),
    )


def _cell_text(parameters, cell):
    return f"({cell // int(parameters['cols'])},{cell % int(parameters['cols'])})"


def _state_words(parameters, state):
    count = int(state[_COUNT])
    shape = (int(parameters["rows"]), int(parameters["cols"]))
    board = np.full(shape, ".")
    for k in range(max(0, count - 2), count):
        cell = state[_CELLS + k]
        is_occupied = board.flat[cell] != "."
        board.flat[cell] = "*" if is_occupied else str(k % 2)
    rows = [" ".join(row) for row in board]
    moves = max(0, count - _NUM_STARTS)
    progress = f"move {moves} of {int(parameters['horizon']) - _NUM_STARTS}"
    return "\n".join([*rows, f"{progress}, player {parameters['evader']} evades"])


def _action_words(parameters, player, action):
    verb = "Start at" if player == CHANCE else "Go to"
    return f"{verb} {_cell_text(parameters, action)}"


def _info_state_words(parameters, player, key):
    cells = [_cell_text(parameters, int(cell)) for cell in key]
    return "path " + " ".join(cells) if cells else "no place"


def _observation(parameters, state, player):
    count = int(state[_COUNT])
    cells = int(parameters["rows"]) * int(parameters["cols"])
    latest = range(max(0, count - 2), count)
    own = [int(state[_CELLS + k]) for k in latest if k % 2 == player]
    moves = int(parameters["horizon"]) - _NUM_STARTS
    return {"cell": (cells, own), "moves": (moves + 1, [max(0, count - _NUM_STARTS)])}


PrincessAndMonsterGame = register(
    described(
        "python_princess_and_monster",
        "Princess and Monster",
        globals(),
        {
            "rows": Parameter(3, low=1),
            "cols": Parameter(3, low=1),
            "horizon": Parameter(7, low=3),
            "evader": Parameter(0, low=0, high=1),
        },
    )
)
