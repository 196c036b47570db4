"""Reads the policies of solvers, result folders and files for a page."""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pyspiel

from mccfr_spiel.common.checkpoint import CHECKPOINT, PREVIOUS
from mccfr_spiel.exploring.shown_policies import ShownPolicy, policies_of_solver
from mccfr_spiel.solving.reading import kept_policies, load_policy
from mccfr_spiel.solving.solver import Solver

_MAX_CHECKPOINT = 2**24
"""Checkpoints of more bytes are skipped, because reading them would delay the page."""


@dataclasses.dataclass
class PolicyReader:
    """Reads policies of one game.

    Attributes:
        game: the game; None to take the game that a policy names.
        tree: the game's tree, which supplies the abstraction; None without a tree.
    """

    game: pyspiel.Game | str | None
    tree: Any | None

    def read(self, source: Any, label: str) -> Iterator[ShownPolicy]:
        """The policies of a solver, a path or a policy; errors of `load_policy`.

        A folder of results contains the reported policy, policies saved during the run,
        and checkpoints with the average and the current policy.
        """
        if isinstance(source, type):
            raise ValueError(
                f"{source.__name__} is a class; expected a solver or a policy."
            )
        if hasattr(source, "average_policy"):
            yield from policies_of_solver(source, f"{label}: " if label else "")
        elif isinstance(source, str | os.PathLike):
            path = pathlib.Path(source)
            yield from self._read_path(path, label or path.name or str(path))
        else:
            yield ShownPolicy(label or "policy", source)

    def _read_path(self, path: pathlib.Path, name: str) -> Iterator[ShownPolicy]:
        reported = ShownPolicy(name, self._load(path))
        yield reported
        kept = {policy.iteration: policy for policy in self.kept_in(path, name)}
        files = (path / (CHECKPOINT + end) for end in (PREVIOUS, ""))
        solvers = {
            solver.num_iterations: solver
            for solver in map(self._small_solver, files)
            if solver
        }
        solvers.pop(0, None)  # a run's first checkpoint, before any iteration
        current_policies = []
        for count, solver in sorted(solvers.items(), reverse=True):
            average, current = policies_of_solver(
                solver, f"{name}, ", f" after {count:,}"
            )
            average.run = name
            kept.setdefault(count, average).regrets = average.regrets
            current_policies.append(current)
            if not reported.solver:  # the newest checkpoint holds the reported policy
                reported.solver, reported.iteration = solver, count
            for policy in kept.values():
                policy.solver = solver
        yield from kept.values()
        yield from current_policies

    def kept_in(self, folder: pathlib.Path, name: str) -> list[ShownPolicy]:
        """The policies that a run has saved in a folder, to be read later."""
        return [
            ShownPolicy(
                f"{name}, average policy after {iteration:,}",
                iteration=iteration,
                run=name,
                read=functools.partial(self._load, path),
            )
            for iteration, path in kept_policies(folder).items()
        ]

    def _load(self, path: pathlib.Path) -> Any:
        abstraction = None if self.tree is None else self.tree.abstraction
        return load_policy(path, self.game, abstraction=abstraction)

    def _small_solver(self, file: pathlib.Path) -> Solver | None:
        """The solver of a checkpoint; None if it is missing, damaged or large."""
        try:
            if file.stat().st_size > _MAX_CHECKPOINT:
                return None
            return Solver.load(file, self.game if self.tree is None else self.tree)
        except (OSError, ValueError):
            return None


def common_game(policies: list[Any]) -> pyspiel.Game:
    """The game that the first policy with a `game` names.

    Raises:
        ValueError: no policy names a game.
    """
    games = (getattr(policy, "game", None) for policy in policies)
    game = next((game for game in games if isinstance(game, pyspiel.Game)), None)
    if game is None:
        raise ValueError(
            f"This {type(policies[0]).__name__} does not name its game; pass game=..., "
            "such as game='kuhn_poker'."
        )
    return game
