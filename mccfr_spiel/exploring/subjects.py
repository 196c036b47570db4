"""What a page looks at: a game, policies for it, and the game's tree once it is there.

Policies answer for states at once. Values need the whole tree of the game. That of a
solver may be whole already, or mapped from a cache; a small one is made in a thread of
its own, and a large one is done without.

`rows_of` reads the rows that a run has written, or a solver recorded. `Work` is a
call in a thread of its own, for which a page can wait a little.
"""

import math
import os
import pathlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import pyspiel

from mccfr_spiel.common.display import brief, title
from mccfr_spiel.common.folders import LOCK, RESULTS, read_table
from mccfr_spiel.exploring.numbers import Numbers, Origin, numbers_of
from mccfr_spiel.exploring.places import Candidate, candidates_of, kept_in
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.table import MOST_NODES
from mccfr_spiel.policies.vectors import policy_vector
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game, same_name, turn_based
from mccfr_spiel.tree.whole_trees import complete_tree, whole_tree_beside

# --- work in a thread of its own, for which a page can wait a little ------------------


_Result = TypeVar("_Result")


class Work(Generic[_Result]):
    """A call that runs in a thread, and what has become of it.

    Attributes:
        error: what the call raised; None if it raised nothing, or not yet.
    """

    def __init__(self, call: Callable[[], _Result]) -> None:
        """Starts the call."""
        self.error: Exception | None = None
        self._began = time.monotonic()
        self._found: list[_Result] = []
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except Exception as error:  # games raise what they like; the page says it
            self.error = error

    @property
    def is_done(self) -> bool:
        """Whether there is a result or an error."""
        return bool(self._found) or self.error is not None

    def result(self, seconds: float | None = 0.0) -> _Result | None:
        """What the call returned; None if it is not done yet.

        Args:
            seconds: to wait, counted from the beginning of the call, so repeated
                questions do not add up; None for as long as it takes.

        Raises:
            ValueError: the call raised an error, whose words these are.
        """
        if not self.is_done:
            if seconds is not None:
                seconds = max(self._began + seconds - time.monotonic(), 0.0)
            self._thread.join(seconds)
        if self.error is not None:
            raise ValueError(str(self.error)) from self.error
        return self._found[0] if self._found else None


# --- what a page looks at -------------------------------------------------------------


PATIENCE = 0.2
"""Seconds that an answer waits for work in another thread, before it says that the work
goes on."""

_MOST_SECONDS = 10.0
"""That an answer waits for a tree of hands, which most often is there."""

KEPT_BYTES = 1 << 29
"""That the numbers of all policies take together. Those of two are kept in any case: of
the policy that is looked at, and of the one to compare it with."""

_BYTES_PER_SEQUENCE = 48
"""Of `Numbers`: four arrays [S] and two [I], which are shorter."""

_KEPT = 64

_one_at_a_time = threading.Lock()
"""Whose numbers are being computed: two passes at once would only take turns."""


class Evaluation:
    """A policy over a whole tree: its vector, and once they were asked for its numbers
    (over a tree of hands a study), both computed in threads.

    Attributes:
        is_wanted: whether an answer may still be asked for.
    """

    def __init__(
        self, tree: GameTree, policy: Any, origin: Origin | None = None
    ) -> None:
        """Begins to read a policy, anything that `policy_vector` takes."""
        self.is_wanted, self._origin = True, origin
        self._tree = tree
        self._vector = Work(lambda: policy_vector(tree, policy))
        self._numbers: Work[Any] | None = None
        self._lock = threading.Lock()

    def vector(self, seconds: float | None = PATIENCE) -> np.ndarray | None:
        """`[S]` the policy; None if it is not there after so many seconds.

        Raises:
            ValueError: it is no policy for this game.
        """
        return self._vector.result(seconds)

    def numbers(self, seconds: float = PATIENCE) -> Any:
        """The policy's Numbers, or its Study in a subgame of hold'em; None if they are
        not there after so many seconds.

        Raises:
            ValueError: they cannot be computed.
        """
        with self._lock:
            if self._numbers is None:
                self._numbers = Work(self._compute)
        return self._numbers.result(seconds)

    def _compute(self) -> Numbers | Study:
        with _one_at_a_time:
            if not self.is_wanted:  # a slider has passed it by
                raise ValueError("Nobody has asked for these values lately.")
            policy = self.vector(None)
            assert policy is not None
            if self._tree.worlds is not None:
                return Study(self._tree.source, SequencePolicy(self._tree, policy))
            return numbers_of(self._tree, policy, self._origin)


class Subject:
    """What a page looks at.

    Attributes:
        source: the game as it was given; `game` is its turn-based form.
        candidates: the policies.
        folder: the first folder of results that was given, if any.
        history: the rows of a solver that was given, if any.
        is_holdem: whether the game is a subgame of hold'em, of which there is a tree of
            hands and none of histories; policies are looked at by a `Study`.
    """

    def __init__(
        self,
        what: Any,
        game: pyspiel.Game | str | None = None,
        tree: GameTree | None = None,
    ) -> None:
        """Reads what was given and starts to make the tree, unless it is there.

        Raises:
            ValueError, OSError: as `explore` says.
        """
        is_several = isinstance(what, Mapping) and what and not _is_table(what)
        given: Mapping[str, Any] = what if is_several else {"": what}
        self.candidates: list[Candidate] = []
        self.folder: pathlib.Path | None = None
        self.history: Sequence[Mapping[str, Any]] = ()
        self._run, self._abstraction = "", tree.abstraction if tree else None
        for label, one in given.items():
            found = candidates_of(one, label, game, tree)
            self.candidates += found
            if isinstance(one, str | os.PathLike):
                if self.folder is None and pathlib.Path(one).is_dir():
                    self.folder, self._run = pathlib.Path(one).resolve(), found[0].label
            elif hasattr(one, "average_policy"):
                self.history = self.history or getattr(one, "history", ())
                tree = tree if tree is not None else one.tree
        if not self.candidates:
            raise ValueError("There is nothing to explore: give a solver or a policy.")
        in_memory = [one.policy for one in self.candidates if one.is_read]
        self.source = _game_of(in_memory, game)
        self.game = turn_based(self.source)
        for candidate in self.candidates:
            if candidate.is_read:
                self._check_game(candidate)
        if tree is None:
            trees = (getattr(policy, "tree", None) for policy in in_memory)
            tree = next((one for one in trees if isinstance(one, GameTree)), None)
        self.is_holdem = hasattr(self.game, "subgame")
        self._lock = threading.Lock()
        self._evaluations: OrderedDict[int, Evaluation] = OrderedDict()
        self._tree: Work[GameTree] | None = None
        if tree is None or tree.abstraction is None:
            self._tree = Work(lambda: self._whole(tree))
            if tree is not None and tree.is_complete:
                self._tree.result(None)

    def _whole(self, tree: GameTree | None) -> GameTree:
        if self.is_holdem:
            return complete_tree(tree or self.source, store="worlds")
        if tree is None:
            return GameTree(self.source, max_nodes=MOST_NODES).expand_all()
        if tree.is_complete:
            return tree
        return whole_tree_beside(tree, self.source, max_nodes=MOST_NODES)

    @property
    def title(self) -> str:
        """The game's name."""
        return title(self.source)

    def tree(self, seconds: float = 0.0) -> GameTree | None:
        """The whole tree of histories; None if it is not there after that time."""
        if self.is_holdem or self._tree is None or self._tree.error is not None:
            return None
        try:
            return self._tree.result(seconds)
        except ValueError:
            return None

    def state_of_tree(self) -> tuple[str, str]:
        """Says "ready", "working", "hands" or "none" of the tree of histories, and why
        it is not there."""
        if self.tree() is not None:
            return "ready", ""
        if self.is_holdem:
            return "hands", (
                "Hands are looked at all together: see Cards. There are no lists."
            )
        if self._tree is None:
            return "none", (
                "The policy is shown at each state, without values, best responses "
                "and lists. With an abstraction players may forget, so there are none."
            )
        if self._tree.error is not None:
            return "none", (
                "The policy is shown at each state; values, best responses and lists "
                f"need the game's whole tree, which is not there. {self._tree.error}"
            )
        return "working", "The game's tree is being made."

    def need_tree(self) -> GameTree:
        """The whole tree of histories.

        Raises:
            ValueError: it is not there; the message says why.
        """
        tree = self.tree(PATIENCE)
        if tree is None:
            raise ValueError(self.state_of_tree()[1])
        return tree

    def need_infosets(self) -> GameTree:
        """The whole tree, or that of hands; errors of `need_tree`."""
        if not self.is_holdem or self._tree is None:
            return self.need_tree()
        tree = self._tree.result(_MOST_SECONDS)
        if tree is None:
            raise ValueError("The hands are being listed; try again in a moment.")
        return tree

    # --- policies --------------------------------------------------------------

    def candidate(self, which: int) -> Candidate:
        """A candidate whose policy has been read.

        Raises:
            ValueError, OSError: its file is damaged or gone, or is of another game.
        """
        candidate = self.candidates[which]
        if not candidate.is_read:
            self._check_game(candidate)
        return candidate

    def _check_game(self, candidate: Candidate) -> None:
        own = getattr(candidate.policy, "game", None)
        if isinstance(own, pyspiel.Game) and not any(
            same_name(own, one) for one in (self.source, self.game)
        ):
            raise ValueError(
                f"{candidate.label} is a policy for {own}, not for "
                f"{brief(self.source)}: one "
                "page shows policies for one game."
            )

    def look_again(self) -> int:
        """Adds the policies that the folder's run has kept since; returns how many
        policies there are now."""
        if self.folder is not None:
            run = self._run
            with self._lock:
                known = {one.iteration for one in self.candidates if one.run == run}
                self.candidates += [
                    one
                    for one in kept_in(self.folder, run, self.source, self._abstraction)
                    if one.iteration not in known
                ]
        return len(self.candidates)

    def evaluation(self, which: int) -> Evaluation:
        """The evaluation of a policy, begun if need be; what was asked for least lately
        is forgotten.

        Raises:
            ValueError, OSError: the tree is not there, or see `candidate`.
        """
        tree, one = self.need_infosets(), self.candidate(which)
        policy = one.policy
        with self._lock:
            if which not in self._evaluations:
                self._evaluations[which] = Evaluation(tree, policy, one.origin)
            self._evaluations.move_to_end(which)
            most = KEPT_BYTES // (_BYTES_PER_SEQUENCE * tree.num_sequences)
            while len(self._evaluations) > max(2, min(_KEPT, most)):
                self._evaluations.popitem(last=False)[1].is_wanted = False
            return self._evaluations[which]


def _is_table(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is itself a policy: of strings to actions' probabilities."""
    first = next(iter(value.values()))
    rows = isinstance(first, Mapping) and not any(
        isinstance(one, Mapping) for one in first.values()
    )
    return "policy" in value or rows


def _game_of(policies: Sequence[Any], game: pyspiel.Game | str | None) -> pyspiel.Game:
    if game is not None:
        return load_game(game)
    games = (getattr(policy, "game", None) for policy in policies)
    found = next((one for one in games if isinstance(one, pyspiel.Game)), None)
    if found is None:
        raise ValueError(
            "A dictionary or an array does not name its game; give it (game=...)."
        )
    return found


# --- the rows that a run has written so far, or a solver recorded ---------------------


_MOST = 5_000


def rows_of(
    folder: pathlib.Path | None, history: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The columns of numbers in results.csv, or else in a solver's history.

    Args:
        folder: of results, or None.
        history: of a solver.
    """
    rows, running = history, False
    if folder is not None:
        rows, _ = read_table(folder / RESULTS)
        # A run that was killed leaves its lock behind. To try the lock would keep a run
        # from starting in that moment.
        running = (folder / LOCK).exists()
    rows = rows[-_MOST:]
    names = list(rows[0]) if rows else []
    columns = {name: [_number(row.get(name)) for row in rows] for name in names}
    numeric = {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
    }
    return {"columns": numeric, "running": running}


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None
