"""Reads the endgames of Libratus (Brown and Sandholm 2017)."""

import os
import pathlib
from typing import Any

import numpy as np

from mccfr_spiel.poker.cards import DECK, HANDS, cards_of


def load_endgame(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of `subgame` for a file of the Libratus endgames (Brown and
    Sandholm 2017), except for `bets`, `raises` and `min_bet`.

    The file has lines `-round` (3 for the turn, 4 for the river), `-board`, `-pot` and
    `-reach` (2 x 1,326 numbers). Stacks are 20,000 - pot / 2; the second range acts
    first.

    Raises:
        ValueError: the file is none of these.
        OSError: it cannot be read.
    """
    lines = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.strip().partition(" ")
        lines[name] = value.strip()
    missing = {"-round", "-board", "-pot", "-reach"} - lines.keys()
    if missing:
        raise ValueError(f"{path} is no endgame: it has no line {min(missing)}.")
    try:
        pot = float(lines["-pot"])
        reach = np.array(lines["-reach"].split(), np.float64)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from error
    if reach.shape != (2 * len(HANDS),):
        raise ValueError(f"{path} has {len(reach)} weights instead of 2 x 1,326.")
    board = cards_of(lines["-board"], "board")
    if lines["-round"] not in ("3", "4") or len(board) < int(lines["-round"]) + 1:
        raise ValueError(f"{path}: {lines['-round']} is no round of its board.")
    text = "".join(DECK[card] for card in board[: int(lines["-round"]) + 1])
    ranges = reach.reshape(2, -1)
    sums = ranges.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise ValueError(f"{path} has an empty range.")
    ranges = ranges / sums
    return {
        "board": text,
        "pot": int(pot) if pot.is_integer() else pot,
        "stacks": 20_000 - (int(pot) // 2 if pot % 2 == 0 else pot / 2),
        "ranges": (ranges[0], ranges[1]),
        "first": 1,
    }
