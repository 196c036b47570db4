"""Dark hex as it is published: a player knows the own moves and their answers only.

OpenSpiel's `dark_hex` shows the number of all moves in its information states, which
players then forget again. Here nobody hears of the other's moves. Both try cells in
turn. A cell that is taken answers so; the player then tries another one, or in the
abrupt form loses the turn. Player 0 connects the top with the bottom, player 1 the left
with the right. The board and its moves are those of OpenSpiel's game.
"""

from mccfr_spiel.arenas.rules.description import Parameter, Sizes, compiled, described
from mccfr_spiel.arenas.rules.game import register
from mccfr_spiel.arenas.rules.twins import hidden_board
from mccfr_spiel.arenas.rules.twins.hidden_board import (
    MOST_CELLS,
    MOVES,
    heard_of,
    moves_known,
    play,
    world_of,
)

_ABRUPT = 2  # in settings, behind the rows and columns


@compiled
def _apply_action(settings, state, action):
    play(settings, state, action, True, settings[_ABRUPT] != 0.0)


@compiled
def _info_key(settings, state, player, key):
    return moves_known(settings, state, player, key, 0, False)


@compiled
def _world_key(settings, state, key):
    return world_of(settings, state, key, settings[_ABRUPT] != 0.0)


@compiled
def _heard(settings, state, player):
    return heard_of(settings, state, player, False)


def _sizes(parameters):
    cells = int(parameters["num_rows"]) * int(parameters["num_cols"])
    if cells > MOST_CELLS:
        raise ValueError(
            f"python_dark_hex: num_rows * num_cols = {cells} cells; at most "
            f"{MOST_CELLS} fit."
        )
    longest = 2 * cells - 1
    return Sizes(
        state=MOVES + longest,
        num_actions=cells,
        max_moves=longest,
        key=(2 * cells + 1,) * cells,
        min_utility=-1.0,
        max_utility=1.0,
    )


def _history(parameters, state):
    """The moves of both players: who, the cell, and whether it was free."""
    cells = int(parameters["num_rows"]) * int(parameters["num_cols"])
    moves = state[MOVES : MOVES + state[2]].tolist()
    return [(m // (2 * cells), m % (2 * cells) // 2, m % 2 == 1) for m in moves]


def _spelled(tries):
    return " ".join(f"{cell}{'' if is_free else '!'}" for cell, is_free in tries)


def _state_words(parameters, state):
    columns = int(parameters["num_cols"])
    board = ["."] * (int(parameters["num_rows"]) * columns)
    for player, cell, is_free in _history(parameters, state):
        if is_free:
            board[cell] = "xo"[player]
    rows = range(0, len(board), columns)
    return "\n".join("".join(board[row : row + columns]) for row in rows)


def _action_words(parameters, player, action):
    columns = int(parameters["num_cols"])
    return f"{'xo'[player]}({action // columns},{action % columns})"


def _info_state_words(parameters, player, key):
    """The own tries in order; a `!` marks those in vain."""
    return _spelled(((move - 1) // 2, (move - 1) % 2 == 1) for move in key.tolist())


def _observation(parameters, state, player):
    cells = int(parameters["num_rows"]) * int(parameters["num_cols"])
    own = [tried for tried in _history(parameters, state) if tried[0] == player]
    return {
        "own": (cells, [cell for _, cell, is_free in own if is_free]),
        "taken": (cells, [cell for _, cell, is_free in own if not is_free]),
    }


DarkHexGame = register(
    described(
        "python_dark_hex",
        "Dark hex without a count of moves",
        {**vars(hidden_board), **globals()},
        {
            "num_rows": Parameter(3, low=2),
            "num_cols": Parameter(3, low=2),
            "abrupt": Parameter(False),
        },
    )
)
