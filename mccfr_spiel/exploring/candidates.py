"""The policies that a page can look at, from what users give: solvers, policies, files.

A policy that a run has kept on the way is read when it is first looked at, since a run
may have kept dozens and each may take a second.
"""

import os
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.exploring.numbers import Origin
from mccfr_spiel.policies.policy import Answers
from mccfr_spiel.reading.policies import load_policy
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage import checkpoint
from mccfr_spiel.storage.results_folder import CHECKPOINT, kept_policies
from mccfr_spiel.tree.game_tree import Abstraction, GameTree

_LARGEST_CHECKPOINT = 2**24
"""Bytes of a checkpoint that is read beside a folder's policy. A larger one is of a
larger game, and would keep the page waiting."""


class Row(NamedTuple):
    """Numbers over the sequences that a tree had met at some moment.

    Attributes:
        tree: the tree, which may have grown since.
        num_infosets: how many infosets it had met.
        vector: `[S]` over their sequences.
    """

    tree: GameTree
    num_infosets: int
    vector: np.ndarray

    def at(self, state: pyspiel.State) -> list[float] | None:
        """Those at a state where a player acts, in the order of its legal actions; None
        if no walk had met it."""
        # Not by the string: the first search for one indexes millions in large games.
        infoset = self.tree.find_at(state, state.current_player())
        if not 0 <= infoset < self.num_infosets:
            return None
        _, start, _, size, _ = self.tree.infosets[infoset].item()
        return self.vector[start : start + size].tolist()


class Candidate:
    """A policy to look at.

    Attributes:
        label: what the page calls it.
        iteration: after which it was, if that is known.
        run: the run of whose average policy it is a step; the page's slider goes
            through the steps of one run. Empty for any other policy.
        regrets: of the solver; None if there is no solver, or if its rule keeps none.
        is_read: whether the policy is in memory.
        origin: how it was found, if that is known.
    """

    origin: Origin | None = None

    def __init__(
        self,
        label: str,
        policy: Any = None,
        iteration: int | None = None,
        *,
        run: str = "",
        regrets: Row | None = None,
        read: Callable[[], Any] | None = None,
    ) -> None:
        """Has a policy, or a function that reads it when it is first asked for."""
        self.label, self.iteration, self.run = label, iteration, run
        self.regrets = regrets
        self._policy, self._read = policy, read
        self._lock = threading.Lock()

    @property
    def is_read(self) -> bool:
        return self._read is None

    @property
    def policy(self) -> Any:
        """The policy, anything that `policy_vector` reads; errors of `load_policy`."""
        with self._lock:
            if self._read is not None:
                self._policy = self._read()
                self._read = None
            return self._policy

    def probabilities(self, state: pyspiel.State) -> dict[int, float] | None:
        """The policy's answer at a state where a player acts, by action; None if the
        policy can only be read with a tree."""
        policy = self.policy
        tree = getattr(policy, "tree", None)
        if isinstance(tree, GameTree) and tree.abstraction is None:
            row = Row(tree, policy.num_infosets, policy.vector).at(state)
            if row is not None:
                return dict(zip(state.legal_actions(), row, strict=True))
        if isinstance(policy, np.ndarray | dict | list | tuple):
            return None
        return Answers(policy).action_probabilities(state)

    def regrets_at(self, state: pyspiel.State) -> list[float] | None:
        """The solver's cumulative regrets at a state where a player acts, if any."""
        return None if self.regrets is None else self.regrets.at(state)


def candidates_of(
    one: Any, label: str, game: pyspiel.Game | str | None, tree: GameTree | None
) -> list[Candidate]:
    """The policies of a solver, of a path, or of a policy.

    Args:
        one: what was given.
        label: what the user calls it; may be empty.
        game, tree: of `explore`.

    Raises:
        ValueError, OSError: as in `load_policy`.
    """
    if isinstance(one, str | os.PathLike):
        path = pathlib.Path(one)
        return list(_of_path(path, label or path.name or str(path), game, tree))
    if hasattr(one, "average_policy"):
        return _of_solver(one, f"{label}: " if label else "")
    return [Candidate(label or "policy", one)]


def _of_solver(solver: Any, prefix: str, ending: str = "") -> list[Candidate]:
    """A solver's policies, with its regrets if its rule keeps any."""
    regrets = None
    is_plain = isinstance(solver, Solver) and solver.tree.abstraction is None
    if is_plain and solver.keeps_regrets:
        vector = solver.regret_vector()
        regrets = Row(solver.tree, solver.tree.num_infosets, vector)
    policies = {"average policy": solver.average_policy()}
    if hasattr(solver, "current_policy"):
        policies["current policy"] = solver.current_policy()
    count = solver.num_iterations
    found = [
        Candidate(f"{prefix}{kind}{ending}", policy, count, regrets=regrets)
        for kind, policy in policies.items()
    ]
    if isinstance(solver, Solver):
        for one in found:
            one.origin = Origin(solver.algorithm, count)
    return found


def _of_path(
    path: pathlib.Path,
    name: str,
    game: pyspiel.Game | str | None,
    tree: GameTree | None,
) -> Iterator[Candidate]:
    """The policies of a file or of a folder: what it reports, what it has kept on the
    way, and its checkpoints."""
    abstraction = None if tree is None else tree.abstraction
    first = Candidate(name, load_policy(path, game, abstraction=abstraction))
    yield first
    if not path.is_dir():
        return
    steps = {one.iteration: one for one in kept_in(path, name, game, abstraction)}
    seen: set[int] = set()
    current = []
    for ending in ("", checkpoint.PREVIOUS):
        solver = _small_solver(path / (CHECKPOINT + ending), game, tree)
        # After no iterations it is the one with which the run began.
        if solver is None or not solver.num_iterations or solver.num_iterations in seen:
            continue
        count = solver.num_iterations
        average, last = _of_solver(solver, f"{name}, ", f" after {count:,}")
        average.run = name
        steps.setdefault(count, average).regrets = average.regrets
        seen.add(count)
        current.append(last)
        if not first.origin:  # of the newest checkpoint, with which the run has ended
            first.origin = average.origin
        for one in steps.values():
            one.origin = Origin(solver.algorithm, one.iteration or 0)
    yield from steps.values()
    yield from current


def _small_solver(
    file: pathlib.Path, game: pyspiel.Game | str | None, tree: GameTree | None
) -> Solver | None:
    """The solver of a checkpoint; None if there is none that can be read at once."""
    try:
        if file.stat().st_size > _LARGEST_CHECKPOINT:
            return None
        return Solver.load(file, game if tree is None else tree)
    except (OSError, ValueError):  # most folders have no checkpoint left
        return None


def kept_in(
    folder: pathlib.Path,
    name: str,
    game: pyspiel.Game | str | None,
    abstraction: Abstraction | None = None,
) -> list[Candidate]:
    """The policies that a run has kept in its folder on the way, not read yet.

    Args:
        folder: of results.
        name: of the run.
        game, abstraction: as for `load_policy`.
    """
    return [
        Candidate(
            f"{name}, average policy after {iteration:,}",
            iteration=iteration,
            run=name,
            read=lambda path=path: load_policy(path, game, abstraction=abstraction),
        )
        for iteration, path in kept_policies(folder).items()
    ]
