"""run_experiments.py: `solve` or, with --experiment, `experiment`."""

import logging
from collections.abc import Sequence

from mccfr_spiel.command_line.experiment_command import run_experiment
from mccfr_spiel.command_line.program_flags import EXPERIMENT_FLAGS, FLAGS
from mccfr_spiel.command_line.solve_command import solve
from mccfr_spiel.command_line.terminal import Signals, guarded


def main(argv: Sequence[str]) -> int:
    """Runs the command of the flags; returns the exit code.

    Args:
        argv: name of the program and the words that are not flags.
    """
    # absl prints log messages of libraries. Those of matplotlib's PDF writer are noise.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    return guarded(lambda signals: _run(argv, signals))


def _run(argv: Sequence[str], signals: Signals) -> int:
    if len(argv) > 1:
        raise ValueError(f"{argv[1]!r} is not a flag. Flags begin with --.")
    if FLAGS.experiment is not None:
        return run_experiment(FLAGS.experiment)
    for name in EXPERIMENT_FLAGS:
        if FLAGS[name].present:
            raise ValueError(f"--{name} needs --experiment.")
    return solve(signals)
