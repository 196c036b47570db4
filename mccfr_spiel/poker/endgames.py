"""Reads the endgames of Libratus (Brown and Sandholm 2017)."""

import os
import pathlib
from typing import Any

import numpy as np

from mccfr_spiel.poker.cards import DECK, HANDS, cards_of


def load_endgame(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Arguments of `subgame` from a file of the Libratus endgames (Brown and Sandholm
    2017), without `bets`, `raises` and `min_bet`.

    The file has lines `-round` (3 for the turn, 4 for the river), `-board`, `-pot` and
    `-reach` (2 x 1,326 numbers). Stacks are 20,000 - pot / 2; the player of the second
    range acts first.

    Args:
        path: path of the file.

    Raises:
        ValueError: the file is not such an endgame.
        OSError: the file cannot be read.
    """
    lines = {}
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not an endgame: it is not a text file.") from error
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        lines[name] = value.strip()
    missing = {"-round", "-board", "-pot", "-reach"} - lines.keys()
    if missing:
        raise ValueError(
            f"{path} is not an endgame: the line {min(missing)} is missing."
        )
    try:
        pot = float(lines["-pot"])
        reach = np.array(lines["-reach"].split(), np.float64)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from error
    if reach.shape != (2 * len(HANDS),):
        raise ValueError(f"{path} has {len(reach)} weights, expected 2 x 1,326.")
    board = cards_of(lines["-board"], "board")
    if lines["-round"] not in ("3", "4") or len(board) < int(lines["-round"]) + 1:
        raise ValueError(
            f"{path}: -round {lines['-round']} must be 3 (turn) or 4 (river), with "
            "enough cards in -board."
        )
    text = "".join(DECK[card] for card in board[: int(lines["-round"]) + 1])
    ranges = reach.reshape(2, -1)
    sums = ranges.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise ValueError(
            f"{path}: both ranges in -reach must contain a positive weight."
        )
    ranges = ranges / sums
    return {
        "board": text,
        "pot": int(pot) if pot.is_integer() else pot,
        "stacks": 20_000 - (int(pot) // 2 if pot % 2 == 0 else pot / 2),
        "ranges": (ranges[0], ranges[1]),
        "first": 1,
    }
