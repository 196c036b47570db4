"""Princess and Monster (Isaacs 1965; Lanctot et al. 2009): pursuit in a dark room.

Chance puts player 0 and then player 1 on any cell of a grid; starting on the same cell
is no capture. Then the players move in turn, player 0 first, to a neighbouring cell or
not at all, and see only their own moves. The game ends when a move brings both to one
cell, and in any case after horizon - 2 moves. The evader gets the number of moves
survived, not counting the one that captures, and the pursuer gets the negative of it.
An action is the cell that the player moves to.
"""

import numpy as np

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    Parameter,
    Sizes,
    compiled,
    described,
)
from mccfr_spiel.arenas.rules.game import register

_ROWS, _COLS, _HORIZON, _EVADER = range(4)  # in settings
# The state has the number of cells so far and then the cells: where player 0 and player
# 1 began and where each move led, player 0's at even places.
_COUNT, _CELLS = 0, 1
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
    for place in range(player, state[_COUNT], 2):
        key[length] = state[_CELLS + place]
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
            "python_princess_and_monster: a board of rows=1, cols=1 has nowhere to go; "
            "it needs at least two cells."
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


def _place_words(parameters, cell):
    return f"({cell // int(parameters['cols'])},{cell % int(parameters['cols'])})"


def _state_words(parameters, state):
    count = int(state[_COUNT])
    shape = (int(parameters["rows"]), int(parameters["cols"]))
    board = np.full(shape, ".")
    for place in range(max(0, count - 2), count):
        cell = state[_CELLS + place]
        on_it = board.flat[cell] != "."
        board.flat[cell] = "*" if on_it else str(place % 2)
    rows = [" ".join(row) for row in board]
    moves = max(0, count - _NUM_STARTS)
    words = f"move {moves} of {int(parameters['horizon']) - _NUM_STARTS}"
    return "\n".join([*rows, f"{words}, player {parameters['evader']} evades"])


def _action_words(parameters, player, action):
    words = "Start at" if player == CHANCE else "Go to"
    return f"{words} {_place_words(parameters, action)}"


def _info_state_words(parameters, player, key):
    cells = [_place_words(parameters, int(cell)) for cell in key]
    return "path " + " ".join(cells) if cells else "no place"


def _observation(parameters, state, player):
    count = int(state[_COUNT])
    cells = int(parameters["rows"]) * int(parameters["cols"])
    latest = range(max(0, count - 2), count)
    own = [int(state[_CELLS + place]) for place in latest if place % 2 == player]
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
