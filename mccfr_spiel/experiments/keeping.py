"""The policies that a run keeps on the way, beside the one at its end.

They are what the slider of the explorer's page goes through. A row's policy is written
after the row and before the checkpoint that has it behind it. So a run that is killed
and resumed has all of them, except where a file could not be written.
"""

import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from mccfr_spiel.experiments.dues import policy_dues
from mccfr_spiel.experiments.settings import Settings, measure
from mccfr_spiel.limits.budget import in_words
from mccfr_spiel.policies.game_solver import GameSolver
from mccfr_spiel.storage.results_folder import CHECKPOINT, policy_after


class NoRoomError(OSError):
    """The disk has no room for a policy beside what the run itself needs."""


class PolicyKeeper:
    """Keeps the average policies of some of a run's rows.

    They are an extra. One that cannot be written is given up, the first time with a
    word, and none may take the room that the run's own files need.
    """

    def __init__(
        self,
        settings: Settings,
        solver: GameSolver,
        say: Callable[[str], object],
        covered: int = 0,
    ) -> None:
        """Keeps nothing yet.

        Args:
            settings: the run.
            solver: that runs it.
            say: is called with a line for the user.
            covered: what the rows have reached that the run has already, in what
                `policy_dues` counts.
        """
        self._solver, self._say = solver, say
        self._column = measure(settings)
        self._dues = policy_dues(settings)
        self._due = next(self._dues, None)
        self._pass_by(covered)
        self._has_said = False

    def keep(self, folder: pathlib.Path, row: Mapping[str, Any]) -> None:
        """Writes the policy of a row, which is the solver's now, if it is due."""
        if self._due is None or row[self._column] < self._due:
            return
        self._pass_by(row[self._column])
        try:
            self._write(folder, row["iteration"])
        except (OSError, ValueError, MemoryError) as error:
            if not self._has_said:
                words = getattr(error, "strerror", None) or str(error)
                self._say(
                    f"The policy after {row['iteration']:,} iterations is not kept "
                    f"({words}). The run goes on."
                )
            self._has_said = True

    def _pass_by(self, covered: int) -> None:
        while self._due is not None and self._due <= covered:
            self._due = next(self._dues, None)

    def _write(self, folder: pathlib.Path, iteration: int) -> None:
        """Writes the policy; raises NoRoomError, or what `SequencePolicy.save` does."""
        path = folder / policy_after(iteration)
        self._solver.average_policy().save(path)
        # At its end the run writes the policy and a checkpoint, which for a moment is
        # there three times.
        needed = path.stat().st_size
        if (folder / CHECKPOINT).exists():
            needed += 2 * (folder / CHECKPOINT).stat().st_size
        free = shutil.disk_usage(folder).free
        if free < needed:
            path.unlink()
            raise NoRoomError(
                f"the {in_words(free)} left on the disk are for the run's own files"
            )
