"""What a page looks at: a game, policies for it, and the game's tree once it is there.

Policies answer for states at once. Values need the whole tree of the game. That of a
solver may be whole already, or mapped from a cache; a small one is made in a thread of
its own, and a large one is done without.
"""

import os
import pathlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel.display.lines import title
from mccfr_spiel.exploring.background import Work
from mccfr_spiel.exploring.numbers import Numbers, numbers_of
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.table import MOST_NODES
from mccfr_spiel.policies.vectors import policy_vector
from mccfr_spiel.reading.policies import load_policy
from mccfr_spiel.solver import Solver
from mccfr_spiel.storage import checkpoint
from mccfr_spiel.storage.results_folder import CHECKPOINT
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.identity import same_name
from mccfr_spiel.tree.loading import load_game, turn_based
from mccfr_spiel.tree.whole_trees import whole_tree_beside

PATIENCE = 0.2
"""Seconds that an answer waits for work in another thread, before it says that the work
goes on."""


LARGE = 5_000_000
"""Nodes of a tree from which on a pass over it takes so long that the page asks first.
Compiled passes do not let other threads run, so the page does not answer meanwhile."""

_LARGEST_CHECKPOINT = 2**24
"""Bytes of a checkpoint that is read beside a folder's policy. A larger one is of a
larger game, and would keep the page waiting."""


class Candidate(NamedTuple):
    """A policy to look at.

    Attributes:
        label: what the page calls it.
        policy: anything that `policy_vector` reads.
        iteration: after which it was, if that is known.
    """

    label: str
    policy: Any
    iteration: int | None = None


class Subject:
    """What a page looks at.

    Attributes:
        source: the game as it was given; `game` is its turn-based form.
        candidates: the policies.
        folder: the folder of results, if there is one.
        history: the rows of a solver that was given, if any.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        candidates: Sequence[Candidate],
        *,
        tree: GameTree | None = None,
        folder: pathlib.Path | None = None,
        history: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Starts to make the tree, unless it is there.

        Args:
            source: the game.
            candidates: at least one policy for it.
            tree: a tree of the game, if there is one.
            folder: of results.
            history: rows of a solver.

        Raises:
            ValueError: a policy is for another game.
        """
        self.source, self.game = source, turn_based(source)
        self.candidates = list(candidates)
        self.folder, self.history = folder, history
        for candidate in self.candidates:
            _check_game(candidate, self.source, self.game)
        self._lock = threading.Lock()
        self._numbers: dict[int, Work[Numbers]] = {}
        self._abstract = tree is not None and tree.abstraction is not None
        self._whole = None if self._abstract else _whole(tree)
        self._making: Work[GameTree] | None = None
        if self._whole is None and not self._abstract:
            self._making = Work(lambda: _made(tree, self.source))

    @property
    def title(self) -> str:
        """The game's name."""
        return title(self.source)

    def tree(self, seconds: float = 0.0) -> GameTree | None:
        """The whole tree; None if it is not there after so many seconds."""
        if self._whole is None and self._making is not None:
            self._whole = self._making.result(seconds)
        return self._whole

    def state_of_tree(self) -> tuple[str, str]:
        """Says "ready", "working" or "none" of the tree, and why it is not there."""
        if self.tree() is not None:
            return "ready", ""
        if self._abstract:
            return "none", (
                "With an abstraction players may forget, so there are no values, "
                "best responses or lists; the policy is shown at each state."
            )
        if self._making is not None and self._making.error is not None:
            return "none", (
                "Values, best responses and lists need the game's whole tree, which "
                f"is not there: {self._making.error} The policy is shown at each state."
            )
        return "working", "The game's tree is being made."

    def need_tree(self) -> GameTree:
        """The whole tree.

        Raises:
            ValueError: it is not there; the message says why.
        """
        tree = self.tree(PATIENCE)
        if tree is None:
            raise ValueError(self.state_of_tree()[1])
        return tree

    @property
    def is_large(self) -> bool:
        """Whether numbers are computed only if they are asked for by name."""
        tree = self.tree()
        return tree is not None and tree.num_nodes > LARGE

    def numbers(
        self, which: int, seconds: float = PATIENCE, *, begins: bool = True
    ) -> Numbers | None:
        """The numbers of a policy; None if they are not there after so many seconds.

        Args:
            which: the policy.
            seconds: how long to wait.
            begins: whether to compute them if nobody has begun to, in a large tree.

        Raises:
            ValueError: they cannot be computed.
        """
        tree = self.tree(seconds)
        if tree is None:
            return None
        policy = self.candidates[which].policy
        with self._lock:
            work = self._numbers.get(which)
            if work is None and self.is_large and not begins:
                return None
            if work is None:
                work = Work(lambda: numbers_of(tree, policy_vector(tree, policy)))
                self._numbers[which] = work
        return found_by(work, seconds)


def found_by(work: Work[Any], seconds: float) -> Any:
    """What work has found after so many seconds, or None.

    Raises:
        ValueError: the work failed.
    """
    found = work.result(seconds)
    if work.error is not None:
        raise ValueError(str(work.error)) from work.error
    return found


def _check_game(candidate: Candidate, source: pyspiel.Game, game: pyspiel.Game) -> None:
    own = getattr(candidate.policy, "game", None)
    if isinstance(own, pyspiel.Game) and not any(
        same_name(own, one) for one in (source, game)
    ):
        raise ValueError(
            f"{candidate.label} is a policy for {own}, not for {source}: one page "
            "shows policies for one game."
        )


def _whole(tree: GameTree | None) -> GameTree | None:
    return tree if tree is not None and tree.is_complete else None


def _made(tree: GameTree | None, source: pyspiel.Game) -> GameTree:
    if tree is not None:
        return whole_tree_beside(tree, source, max_nodes=MOST_NODES)
    return GameTree(source, max_nodes=MOST_NODES).expand_all()


def probabilities(policy: Any, state: pyspiel.State) -> dict[int, float] | None:
    """A policy's answer at a state, by action; None if it can only be read with a tree.

    Args:
        policy: any policy.
        state: of the turn-based game, where a player acts.
    """
    tree = getattr(policy, "tree", None)
    if isinstance(tree, GameTree) and tree.abstraction is None:
        # Not by the string: the first search for one indexes millions in large games.
        infoset = tree.find_at(state, state.current_player())
        if 0 <= infoset < policy.num_infosets:
            _, start, _, size, _ = tree.infosets[infoset].item()
            row = policy.vector[start : start + size].tolist()
            return dict(zip(state.legal_actions(), row, strict=True))
    if isinstance(policy, SequencePolicy | openspiel_policy.Policy | pyspiel.Policy):
        return dict(policy.action_probabilities(state))
    return None


# --- from what users give -----------------------------------------------------


def subject_of(
    what: Any, game: pyspiel.Game | str | None = None, tree: GameTree | None = None
) -> Subject:
    """The subject of what was given to `explore`, which lists what that can be."""
    if isinstance(what, Mapping) and what and not _is_table(what):
        given = list(what.items())
    else:
        given = [("", what)]
    candidates: list[Candidate] = []
    folder: pathlib.Path | None = None
    history: Sequence[Mapping[str, Any]] = ()
    one: Any
    for label, one in given:
        if isinstance(one, str | os.PathLike):
            path = pathlib.Path(one)
            candidates += _read(path, label, game, tree)
            if path.is_dir() and folder is None:
                folder = path.resolve()
        elif hasattr(one, "average_policy"):
            candidates += _of_solver(one, label)
            history = history or getattr(one, "history", ())
            tree = tree if tree is not None else one.tree
        else:
            candidates.append(Candidate(label or "policy", one))
    if not candidates:
        raise ValueError("There is nothing to explore: give a solver or a policy.")
    source = _game_of(candidates, game)
    if tree is None:
        trees = [getattr(one.policy, "tree", None) for one in candidates]
        found = [one for one in trees if isinstance(one, GameTree)]
        tree = found[0] if found else None
    return Subject(source, candidates, tree=tree, folder=folder, history=history)


def _is_table(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is itself a policy: of strings to actions' probabilities."""
    first = next(iter(value.values()))
    rows = isinstance(first, Mapping) and not any(
        isinstance(one, Mapping) for one in first.values()
    )
    return "policy" in value or rows


def _of_solver(solver: Any, label: str) -> list[Candidate]:
    prefix = f"{label}: " if label else ""
    count = solver.num_iterations
    found = [Candidate(f"{prefix}average policy", solver.average_policy(), count)]
    if hasattr(solver, "current_policy"):
        current = solver.current_policy()
        found.append(Candidate(f"{prefix}current policy", current, count))
    return found


def _read(
    path: pathlib.Path,
    label: str,
    game: pyspiel.Game | str | None,
    tree: GameTree | None,
) -> list[Candidate]:
    """The policies of a file or of a folder: what it reports, and its checkpoints.

    Raises:
        ValueError, OSError: as in `load_policy`.
    """
    name = label or path.name or str(path)
    found = [Candidate(name, load_policy(path, game))]
    if not path.is_dir():
        return found
    saved = [path / (CHECKPOINT + ending) for ending in ("", checkpoint.PREVIOUS)]
    for file in saved:
        try:
            if file.stat().st_size > _LARGEST_CHECKPOINT:
                continue
            solver = Solver.load(file, game if tree is None else tree)
        except (OSError, ValueError):  # most folders have no checkpoint left
            continue
        count = solver.num_iterations
        words = f"{name}, checkpoint after {count:,}"
        if not any(count == one.iteration for one in found):
            found.append(Candidate(words, solver.average_policy(), count))
            current = f"{name}, current policy after {count:,}"
            found.append(Candidate(current, solver.current_policy(), count))
    return found


def _game_of(
    candidates: Sequence[Candidate], game: pyspiel.Game | str | None
) -> pyspiel.Game:
    if game is not None:
        return load_game(game)
    for one in candidates:
        own = getattr(one.policy, "game", None)
        if isinstance(own, pyspiel.Game):
            return own
    raise ValueError(
        "A dictionary or an array does not name its game; give it (game=...)."
    )


def vector_of(tree: GameTree, policy: Any) -> np.ndarray:
    """`[S]` a policy over the tree's sequences.

    Raises:
        ValueError: it is no policy for this game; or it has infosets of its own, and
            the tree is so large that to find them all takes minutes.
    """
    if tree.num_nodes > LARGE and getattr(policy, "tree", None) is not tree:
        raise ValueError("Press the button that computes the values first.")
    return policy_vector(tree, policy)
