"""The policies that a page can look at, from what users give: solvers, policies, files.

A policy that a run has kept on the way is read when it is first looked at, since a run
may have kept dozens and each may take a second.
"""

import os
import pathlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.reading.policies import load_policy
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage import checkpoint
from mccfr_spiel.storage.results_folder import CHECKPOINT, kept_policies
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game

_LARGEST_CHECKPOINT = 2**24
"""Bytes of a checkpoint that is read beside a folder's policy. A larger one is of a
larger game, and would keep the page waiting."""


class Regrets(NamedTuple):
    """A solver's cumulative regrets, as they were when the page was opened.

    Attributes:
        tree: the solver's.
        num_infosets: how many the tree had met.
        vector: `[S]` over the sequences of these.
    """

    tree: GameTree
    num_infosets: int
    vector: np.ndarray

    def at(self, state: pyspiel.State) -> list[float] | None:
        """Those at a state where a player acts; None if no walk had met it."""
        return _row_at(self.tree, self.num_infosets, self.vector, state)


class Candidate:
    """A policy to look at.

    Attributes:
        label: what the page calls it.
        iteration: after which it was, if that is known.
        run: the run of whose average policy it is a step; the page's slider goes
            through the steps of one run. Empty for any other policy.
        regrets: of the solver; None if there is no solver, or if its rule keeps none.
        is_read: whether the policy is in memory.
    """

    def __init__(
        self,
        label: str,
        policy: Any = None,
        iteration: int | None = None,
        *,
        run: str = "",
        regrets: Regrets | None = None,
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


class Given(NamedTuple):
    """What users gave.

    Attributes:
        source: the game.
        candidates: the policies.
        tree: a tree of the game, if there is one.
        folder: of results, the first that was given.
        run: what the page calls the run of that folder.
        history: the rows of a solver.
    """

    source: pyspiel.Game
    candidates: list[Candidate]
    tree: GameTree | None
    folder: pathlib.Path | None
    run: str
    history: Sequence[Mapping[str, Any]]


def read_given(
    what: Any, game: pyspiel.Game | str | None = None, tree: GameTree | None = None
) -> Given:
    """Reads what was given to `explore`, which lists what that can be.

    Raises:
        ValueError, OSError: as `explore` says.
    """
    if isinstance(what, Mapping) and what and not _is_table(what):
        given = list(what.items())
    else:
        given = [("", what)]
    candidates: list[Candidate] = []
    folder, run = None, ""
    history: Sequence[Mapping[str, Any]] = ()
    one: Any
    for label, one in given:
        if isinstance(one, str | os.PathLike):
            path = pathlib.Path(one)
            name = label or path.name or str(path)
            candidates += _of_path(path, name, game, tree)
            if path.is_dir() and folder is None:
                folder, run = path.resolve(), name
        elif hasattr(one, "average_policy"):
            candidates += _of_solver(one, f"{label}: " if label else "")
            history = history or getattr(one, "history", ())
            tree = tree if tree is not None else one.tree
        else:
            candidates.append(Candidate(label or "policy", one))
    if not candidates:
        raise ValueError("There is nothing to explore: give a solver or a policy.")
    source = _game_of(candidates, game)
    if tree is None:
        read = [one.policy for one in candidates if one.is_read]
        trees = [getattr(policy, "tree", None) for policy in read]
        found = [one for one in trees if isinstance(one, GameTree)]
        tree = found[0] if found else None
    return Given(source, candidates, tree, folder, run, history)


def _is_table(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is itself a policy: of strings to actions' probabilities."""
    first = next(iter(value.values()))
    rows = isinstance(first, Mapping) and not any(
        isinstance(one, Mapping) for one in first.values()
    )
    return "policy" in value or rows


def _of_solver(solver: Any, prefix: str, ending: str = "") -> list[Candidate]:
    """A solver's policies, with its regrets if its rule keeps any."""
    count, regrets = solver.num_iterations, None
    is_plain = isinstance(solver, Solver) and solver.tree.abstraction is None
    if is_plain and solver.keeps_regrets:
        vector = solver.regret_vector()
        regrets = Regrets(solver.tree, solver.tree.num_infosets, vector)
    policies = {"average policy": solver.average_policy()}
    if hasattr(solver, "current_policy"):
        policies["current policy"] = solver.current_policy()
    return [
        Candidate(f"{prefix}{kind}{ending}", policy, count, regrets=regrets)
        for kind, policy in policies.items()
    ]


def _of_path(
    path: pathlib.Path,
    name: str,
    game: pyspiel.Game | str | None,
    tree: GameTree | None,
) -> list[Candidate]:
    """The policies of a file or of a folder: what it reports, what it has kept on the
    way, and its checkpoints.

    Raises:
        ValueError, OSError: as in `load_policy`.
    """
    found = [Candidate(name, load_policy(path, game))]
    if not path.is_dir():
        return found
    found += kept_in(path, name, game)
    saved = [path / (CHECKPOINT + ending) for ending in ("", checkpoint.PREVIOUS)]
    for file in saved:
        try:
            if file.stat().st_size > _LARGEST_CHECKPOINT:
                continue
            solver = Solver.load(file, game if tree is None else tree)
        except (OSError, ValueError):  # most folders have no checkpoint left
            continue
        count = solver.num_iterations
        if not count:  # it is the one with which the run began
            continue
        average, current = _of_solver(solver, f"{name}, ", f" after {count:,}")
        steps = {one.iteration: one for one in found if one.run}
        if count in steps:
            steps[count].regrets = average.regrets
        else:
            average.run = name
            found.append(average)
        if not any(count == one.iteration for one in found if not one.run):
            found.append(current)
    return found


def kept_in(
    folder: pathlib.Path, name: str, game: pyspiel.Game | str | None
) -> list[Candidate]:
    """The policies that a run has kept in its folder on the way, not read yet.

    Args:
        folder: of results.
        name: of the run.
        game: as for `load_policy`.
    """
    return [
        Candidate(
            f"{name}, average policy after {iteration:,}",
            iteration=iteration,
            run=name,
            read=lambda path=path: load_policy(path, game),
        )
        for iteration, path in kept_policies(folder).items()
    ]


def _game_of(
    candidates: Sequence[Candidate], game: pyspiel.Game | str | None
) -> pyspiel.Game:
    if game is not None:
        return load_game(game)
    for one in candidates:
        own = getattr(one.policy, "game", None) if one.is_read else None
        if isinstance(own, pyspiel.Game):
            return own
    raise ValueError(
        "A dictionary or an array does not name its game; give it (game=...)."
    )


def _row_at(
    tree: GameTree, num_infosets: int, vector: np.ndarray, state: pyspiel.State
) -> list[float] | None:
    """A vector's part at the infoset of a state, in the order of its legal actions;
    None if the infoset is none of the first `num_infosets` of the tree."""
    # Not by the string: the first search for one indexes millions in large games.
    infoset = tree.find_at(state, state.current_player())
    if not 0 <= infoset < num_infosets:
        return None
    _, start, _, size, _ = tree.infosets[infoset].item()
    return vector[start : start + size].tolist()


def probabilities(policy: Any, state: pyspiel.State) -> dict[int, float] | None:
    """A policy's answer at a state, by action; None if it can only be read with a tree.

    Args:
        policy: any policy.
        state: of the turn-based game, where a player acts.
    """
    tree = getattr(policy, "tree", None)
    if isinstance(tree, GameTree) and tree.abstraction is None:
        row = _row_at(tree, policy.num_infosets, policy.vector, state)
        if row is not None:
            return dict(zip(state.legal_actions(), row, strict=True))
    if isinstance(policy, SequencePolicy | openspiel_policy.Policy | pyspiel.Policy):
        return dict(policy.action_probabilities(state))
    return None
