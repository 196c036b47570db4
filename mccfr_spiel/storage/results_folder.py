"""The names of the files in a folder of results, and what several rooms do with them.

A run leaves `settings.json`, `results.csv`, the policy (`policy.json`, or `policy.bin`
if it is large), a picture drawn from the rows alone, and the checkpoints by which it
can be resumed. It may have kept policies on the way, too (`policy_after_1000.bin`).
Policies are read from such a folder, so the names are kept here, below both the
experiments and the policies.
"""

import json
import pathlib
import re
from typing import Any

from mccfr_spiel.storage.atomic import write_file
from mccfr_spiel.storage.checkpoint import DAMAGED, PREVIOUS

SETTINGS = "settings.json"
RESULTS = "results.csv"
POLICY, BINARY_POLICY = "policy.json", "policy.bin"
PICTURE = "convergence.png"
PICTURES = PICTURE, "convergence.svg", "convergence.pdf"
CHECKPOINT = "solver.checkpoint"
EVALUATION = "evaluation.json"
SOLUTION, PROGRAM = "solution.json", "program.mps"

ALL_FILES: tuple[str, ...] = (
    SETTINGS,
    RESULTS,
    POLICY,
    BINARY_POLICY,
    *PICTURES,
    EVALUATION,
    SOLUTION,
    PROGRAM,
    RESULTS + DAMAGED,
    CHECKPOINT,
    *(CHECKPOINT + ending for ending in (PREVIOUS, DAMAGED)),
)
"""Every file that a run may leave behind; a new run in the folder replaces them all."""


def policy_after(iteration: int) -> str:
    """The name of the file with the policy that a run kept after an iteration."""
    return f"policy_after_{iteration}.bin"


def kept_policies(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The policies that a run has kept on the way: iteration -> file, in that order."""
    found: dict[int, pathlib.Path] = {}
    for path in folder.glob("policy_after_*.bin"):
        digits = path.name.removeprefix("policy_after_").removesuffix(".bin")
        if digits.isdecimal():
            found[int(digits)] = path
    return dict(sorted(found.items()))


def remove_kept_policies(folder: pathlib.Path) -> None:
    """Removes them, and what a kill has left of one that was being written.

    Raises:
        OSError: one cannot be removed.
    """
    for path in folder.glob("policy_after_*.bin*"):
        path.unlink(missing_ok=True)


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes a value as JSON; the file appears whole or not at all."""
    write_file(path, (json.dumps(value, indent=1) + "\n").encode())


def load_string(game: str, players: int | None = None) -> str:
    """A game's load string with the parameter `players` added, if it is given.

    Raises:
        ValueError: the load string has that parameter already.
    """
    game = game.strip()
    if players is None:
        return game
    if re.search(r"[(,]\s*players\s*=", game):
        raise ValueError(f"players={players} is given beside {game}; drop one.")
    if game.endswith(")"):
        separator = "" if game.endswith("()") else ","
        return f"{game[:-1]}{separator}players={players})"
    return f"{game}(players={players})"
