"""Aggregated reports: the same spot on several boards."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyspiel

from mccfr_spiel.algorithms.algorithm import DCFR, Algorithm
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.poker.cards import board_of
from mccfr_spiel.poker.runouts import frame_of, summary
from mccfr_spiel.poker.study import Study
from mccfr_spiel.poker.subgames import Subgame
from mccfr_spiel.solving.solver import Solver


def report(
    boards: Sequence[str],
    game: pyspiel.Game | str,
    *,
    until_pot_percent: float = 0.5,
    algorithm: str | Algorithm = DCFR,
    threads: int | None = 1,
    max_memory: MaxMemory = None,
    progress: bool | None = None,
) -> Any:
    """Solves a spot on several boards and lists what the first player does.

        game = ms.poker.subgame(board="Ks7d2c", ...)
        ms.poker.report(["Ks7d2c", "Qh8h3c", "9s8s7s"], game)

    Args:
        boards: boards with as many cards as that of the game.
        game: a game from `subgame`; only the board is replaced.
        until_pot_percent: accuracy of each solution, see `Solver.run`.
        algorithm, threads, max_memory: see `Solver`.
        progress: see `Solver.run`.

    Returns:
        A pandas DataFrame with a row per board: the EV and the equity of each player,
        the frequency of each action of the player who acts first, and the accuracy
        reached in percent of the pot.

    Raises:
        ValueError: the game is not a subgame, or a board is invalid or given twice.
        ImportError: pandas is not installed.
    """
    like: Any = load_game(game)
    if not isinstance(getattr(like, "subgame", None), Subgame):
        raise ValueError(f"{like} must be a game made by ms.poker.subgame.")
    if not isinstance(boards, Iterable):
        raise ValueError(
            f'boards={boards!r} must be a list of boards, e.g. ["Ks7d2c"].'
        )
    given = [*map(board_of, [boards] if isinstance(boards, str) else boards)]
    if not given or len(set(given)) < len(given):
        raise ValueError(f"boards={boards!r} must be different boards, at least one.")
    frame_of([{"board": ""}], "board")  # refuses early if pandas is missing
    parameters, name = like.get_parameters(), like.get_type().short_name
    games = [pyspiel.load_game(name, parameters | {"board": board}) for board in given]
    num_cards = {len(other.subgame.board) for other in (like, *games)}
    if len(num_cards) > 1:
        raise ValueError(
            f"boards={given!r}: all boards must have {len(like.subgame.board)} cards, "
            f"like the game's board {like.subgame.board_text}."
        )
    rows = []
    for board, spot in zip(given, games, strict=True):
        solver = Solver(spot, algorithm, threads=threads, max_memory=max_memory)
        history = solver.run(until_pot_percent=until_pot_percent, progress=progress)
        decision = Study(spot, solver.average_policy()).decision()
        row = summary(decision) | {"pot_percent": history[-1]["pot_percent"]}
        del row["probability"]
        rows.append({"board": board} | row)
    return frame_of(rows, "board")
