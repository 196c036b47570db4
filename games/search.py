"""Search (Farina, Kroer, Sandholm 2020): an attacker crosses a border with two patrols.

    S | 0 0 0 | . . . | 0 0 0 | goals worth 5, 10, 3
        patrol 1        patrol 2

In each turn the attacker (player 0) moves, and then the defender (player 1) moves both
patrols. Neither sees anything of the other.

- The attacker begins at S, where it may wait once. It then enters any row of column 1,
  quickly or slowly; entering slowly forces it to wait in the next turn. From there it
  goes on in the same row to column 2, to column 3 and to the goal of the row. In column
  2 it may first go from row 0 or 2 to row 1.
- The defender's first move puts each patrol on any row of its column. Later each patrol
  stays where it is or moves by one row.
- Reaching a goal ends the game before the defender moves. A patrol that is on the
  attacker's node after the defender's move captures it, which is worth `capture_value`
  to the attacker. After `turns` turns time is up, which is worth 0.
"""

import math

from mccfr_spiel.arenas.rules.description import (
    TERMINAL,
    Parameter,
    Sizes,
    compiled,
    described,
)
from mccfr_spiel.arenas.rules.game import register

_TURNS, _CAPTURE_VALUE = range(2)  # in settings
# The state has the number of moves, the attacker's column (0 is S, 4 has the goals) and
# row, whether it must wait next, whether it has waited at S, the patrols' rows, and the
# moves.
_COUNT, _COLUMN, _ROW, _SLOW, _WAITED, _PATROL, _MOVES = 0, 1, 2, 3, 4, 5, 7
_NUM_ROWS = 3
_ZONES = (1, 3)  # the patrols' columns
_GOAL = 4
_GOALS = (5.0, 10.0, 3.0)
_MIDDLE = 1
# The attacker's actions. The defender's are 3 * (row of patrol 1) + (row of patrol 2).
_WAIT, _QUICK, _ENTER_SLOWLY, _FORWARD, _TO_MIDDLE = 0, 1, 4, 7, 8
_NUM_ACTIONS = 9


@compiled
def _is_captured(state):
    if state[_COUNT] < 2 or state[_COUNT] % 2 != 0:
        return False
    for patrol in range(2):
        if state[_COLUMN] == _ZONES[patrol] and state[_ROW] == state[_PATROL + patrol]:
            return True
    return False


@compiled
def _acting(settings, state):
    count = state[_COUNT]
    if (
        state[_COLUMN] == _GOAL
        or count == 2 * int(settings[_TURNS])
        or _is_captured(state)
    ):
        return TERMINAL
    return count % 2


@compiled
def _attacker_actions(state, actions):
    column = state[_COLUMN]
    if state[_SLOW] != 0:
        actions[0] = _WAIT
        return 1
    if column == 0:
        count = 0
        if state[_WAITED] == 0:
            actions[0] = _WAIT
            count = 1
        for k in range(2 * _NUM_ROWS):
            actions[count + k] = _QUICK + k
        return count + 2 * _NUM_ROWS
    actions[0] = _FORWARD
    if column == 2 and state[_ROW] != _MIDDLE:
        actions[1] = _TO_MIDDLE
        return 2
    return 1


@compiled
def _legal_actions(settings, state, actions):
    if state[_COUNT] % 2 == 0:
        return _attacker_actions(state, actions)
    count = 0
    for action in range(_NUM_ROWS * _NUM_ROWS):
        first = abs(action // _NUM_ROWS - state[_PATROL])
        second = abs(action % _NUM_ROWS - state[_PATROL + 1])
        if state[_COUNT] == 1 or (first <= 1 and second <= 1):
            actions[count] = action
            count += 1
    return count


@compiled
def _apply_action(settings, state, action):
    count = state[_COUNT]
    state[_MOVES + count] = action
    state[_COUNT] = count + 1
    if count % 2 == 1:
        state[_PATROL] = action // _NUM_ROWS
        state[_PATROL + 1] = action % _NUM_ROWS
    elif action == _WAIT:
        if state[_COLUMN] == 0:
            state[_WAITED] = 1
        state[_SLOW] = 0
    elif action == _FORWARD:
        state[_COLUMN] += 1
    elif action == _TO_MIDDLE:
        state[_ROW] = _MIDDLE
    else:
        state[_COLUMN] = 1
        state[_ROW] = (action - _QUICK) % _NUM_ROWS
        state[_SLOW] = int(action >= _ENTER_SLOWLY)


@compiled
def _info_key(settings, state, player, key):
    length = 0
    for k in range(player, state[_COUNT], 2):
        key[length] = state[_MOVES + k]
        length += 1
    return length


@compiled
def _returns(settings, state, returns):
    value = 0.0
    if state[_COLUMN] == _GOAL:
        value = _GOALS[state[_ROW]]
    elif _is_captured(state):
        value = settings[_CAPTURE_VALUE]
    returns[0] = value
    returns[1] = -value


def _sizes(parameters):
    turns = int(parameters["turns"])
    most = max(*_GOALS, math.fabs(parameters["capture_value"]))
    return Sizes(
        state=_MOVES + 2 * turns,
        num_actions=_NUM_ACTIONS,
        max_moves=2 * turns,
        key=(_NUM_ACTIONS,) * turns,
        min_utility=-most,
        max_utility=most,
    )


def _state_words(parameters, state):
    lines = []
    for row in range(_NUM_ROWS):
        line = ["S" if row == _MIDDLE else " ", ".", ".", ".", f"{_GOALS[row]:g}"]
        for patrol, column in enumerate(_ZONES):
            if state[_COUNT] > 1 and state[_PATROL + patrol] == row:
                line[column] = str(patrol + 1)
        if row == (state[_ROW] if state[_COLUMN] else _MIDDLE):
            here = line[state[_COLUMN]]
            line[state[_COLUMN]] = "*" if here in "12" else "A"
        lines.append(" ".join(line))
    turn = min(int(state[_COUNT]) // 2 + 1, int(parameters["turns"]))
    words = f"turn {turn} of {parameters['turns']}"
    if state[_WAITED]:
        words += ", has waited"
    if state[_SLOW]:
        words += ", must wait"
    return "\n".join([*lines, words])


def _move_words(player, action):
    if player == 1:
        return f"patrols {action // _NUM_ROWS} {action % _NUM_ROWS}"
    if action == _WAIT:
        return "wait"
    if action in (_FORWARD, _TO_MIDDLE):
        return "forward" if action == _FORWARD else "middle"
    pace = "slow" if action >= _ENTER_SLOWLY else "quick"
    return f"{pace} {(action - _QUICK) % _NUM_ROWS}"


def _action_words(parameters, player, action):
    return _move_words(player, action).capitalize()


def _info_state_words(parameters, player, key):
    return ", ".join(_move_words(player, int(action)) for action in key) or "start"


def _observation(parameters, state, player):
    turns = int(parameters["turns"])
    seen = {"moves": (2 * turns + 1, [int(state[_COUNT])])}
    if player == 0:
        node = int(_NUM_ROWS * state[_COLUMN] + state[_ROW])
        places = [node]
        if state[_SLOW]:
            places.append(_NUM_ROWS * (_GOAL + 1))
        if state[_WAITED]:
            places.append(_NUM_ROWS * (_GOAL + 1) + 1)
    elif state[_COUNT] > 1:
        places = [int(state[_PATROL]), _NUM_ROWS + int(state[_PATROL + 1])]
    else:
        places = []
    return {**seen, "places": (_NUM_ROWS * (_GOAL + 1) + 2, places)}


SearchGame = register(
    described(
        "python_search",
        "Search",
        globals(),
        {
            "turns": Parameter(4, low=1),
            "capture_value": Parameter(-1.0),
        },
    )
)
