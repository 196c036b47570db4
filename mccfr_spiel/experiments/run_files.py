"""The names of the files that a run leaves in its folder."""

from mccfr_spiel.common.checkpoint import CHECKPOINT, DAMAGED, PREVIOUS
from mccfr_spiel.solving.reading import BINARY_POLICY, POLICY, RESULTS

SETTINGS = "settings.json"
COMPARISON = "comparison.csv"
"""The table of `compare`; single runs have no such file."""

FORMATS = ("png", "svg", "pdf")
"""The kinds of files that figures are written into."""

PICTURES = {kind: f"convergence.{kind}" for kind in FORMATS}
EVALUATION = "evaluation.json"
SOLUTION, PROGRAM = "solution.json", "program.mps"

ALL_FILES: tuple[str, ...] = (
    SETTINGS,
    RESULTS,
    POLICY,
    BINARY_POLICY,
    *PICTURES.values(),
    EVALUATION,
    SOLUTION,
    PROGRAM,
    CHECKPOINT,
    *(CHECKPOINT + ending for ending in (PREVIOUS, DAMAGED)),
)
"""Every file that a run may leave behind; a new run in the folder replaces them all."""
