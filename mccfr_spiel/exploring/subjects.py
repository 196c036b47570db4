"""What a page looks at: a game, policies for it, and the game's tree once it is there.

Policies answer for states at once. Values need the whole tree of the game. That of a
solver may be whole already, or mapped from a cache; a small one is made in a thread of
its own, and a large one is done without.

`Work` is a call in a thread of its own, for which a page can wait a little.

All values are *counterfactual* here: summed over the histories of an infoset, each
weighted by how the others and chance play to it. Divided by the sum of these weights
(`Numbers.reach`) they are what the player gets on average once it is there.
"""

import concurrent.futures
import dataclasses
import functools
import math
import os
import pathlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import (
    complete_table,
    full_pass,
    is_arena,
    table_beside,
)
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.hand_arena import HandArena
from mccfr_spiel.arenas.infosets.loading import load_game, same_name, turn_based
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import folders
from mccfr_spiel.common.display import brief, title
from mccfr_spiel.poker.study import Study
from mccfr_spiel.policies.names import uniform_vector
from mccfr_spiel.policies.policy import Answers, SequencePolicy
from mccfr_spiel.policies.table import MOST_NODES
from mccfr_spiel.solving.reading import load_policy
from mccfr_spiel.solving.solver import Solver

# --- work in a thread of its own, for which a page can wait a little ------------------


PATIENCE = 0.2
"""Seconds that an answer waits for work in another thread, before it says that the work
goes on."""

LONG = 10.0
"""That an answer waits for what most often is there: a tree of hands, or the policy
that a page begins to change."""

_Result = TypeVar("_Result")


class WorkingError(ValueError):
    """Work in another thread goes on; the page asks again, or says so."""


class Work(Generic[_Result]):
    """A call that runs in a thread, from when it is begun or first asked for; `words`
    say that it goes on."""

    def __init__(self, call: Callable[[], _Result], words: str = "") -> None:
        """Begins nothing yet."""
        self._call, self.words = call, words
        self._lock, self._began = threading.Lock(), 0.0
        self._future: concurrent.futures.Future[_Result] = concurrent.futures.Future()

    def begin(self) -> "Work[_Result]":
        """Starts the call unless it has begun; returns itself."""
        with self._lock:
            if not self._began:
                self._began = time.monotonic()
                threading.Thread(target=self._run, daemon=True).start()
        return self

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except Exception as error:  # games raise what they like; the page says it
            self._future.set_exception(error)
        # It may hold what holds this work, and a cycle is freed only by the garbage
        # collector, which does not notice memory of NumPy's.
        del self._call

    @property
    def is_done(self) -> bool:
        """Whether there is a result or an error."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """What the call raised; None if it raised nothing, or not yet."""
        return self._future.exception() if self.is_done else None

    def result(self, seconds: float | None = PATIENCE) -> _Result:
        """What the call returned.

        Args:
            seconds: to wait, counted from the beginning of the call, so repeated
                questions do not add up; None for as long as it takes.

        Raises:
            ValueError: the call raised an error, whose words these are.
            WorkingError: it is not done yet.
        """
        self.begin()
        if seconds is not None:
            seconds = max(self._began + seconds - time.monotonic(), 0.0)
        if not concurrent.futures.wait([self._future], seconds).done:
            raise WorkingError(self.words)
        if self.error is not None:
            raise ValueError(str(self.error)) from self.error
        return self._future.result()


# --- what a policy is worth at every infoset of a whole tree --------------------------


class Numbers(NamedTuple):
    """What a policy is worth.

    Attributes:
        policy: `[S]` the policy.
        plan: `[S]` the players' realization plans.
        reach: `[I]` how the others and chance play to the infosets.
        values: `[S]` what its player gets after a sequence, counterfactually.
        best: `[S]` the same if the player plays a best response from then on.
        returns: `[P]` the players' expected returns.
        best_returns: `[P]` those of best responses to the others.
        gains: `[I]` how much of a player's gain by a best response comes from moving
            otherwise at the infoset. Those of a player add up to the whole gain.
        visits: `[I]` see `visits_of`.
    """

    policy: np.ndarray
    plan: np.ndarray
    reach: np.ndarray
    values: np.ndarray
    best: np.ndarray
    returns: np.ndarray
    best_returns: np.ndarray
    gains: np.ndarray
    visits: np.ndarray | None = None


# --- the policies that a page can look at ---------------------------------------------


_LARGEST_CHECKPOINT = 2**24
"""Bytes of a checkpoint that is read beside a folder's policy. A larger one is of a
larger game, and would keep the page waiting."""


Ask = Callable[[pyspiel.State], list[float] | None]
"""Gives numbers at a state where a player acts, in the order of its legal actions."""


@dataclasses.dataclass(eq=False)
class Candidate:
    """A policy to look at.

    A policy that a run has kept on the way is read when it is first looked at, since a
    run may have kept dozens and each may take a second.

    Attributes:
        label: what the page calls it.
        given: the policy, if it is in memory.
        iteration: after which it was, if that is known.
        run: the run of whose average policy it is a step; the page's slider goes
            through the steps of one run. Empty for any other policy.
        solver: that has found it, if that is known.
        regrets: gives the solver's cumulative regrets; None if there is no solver, or
            if its rule keeps none.
        read: reads the policy, if it is not in memory.
    """

    label: str
    given: Any = None
    iteration: int | None = None
    run: str = ""
    solver: Solver | None = None
    regrets: Ask | None = None
    read: Callable[[], Any] | None = None

    @functools.cached_property
    def policy(self) -> Any:
        """The policy, anything that `policy_vector` reads; errors of `load_policy`."""
        return self.given if self.read is None else self.read()

    @property
    def walks(self) -> int:
        """That the solver had made by then for each player; of batches that grow, at
        least so many."""
        batch = self.solver.algorithm.batch if self.solver else 0
        return (self.iteration or 0) * (batch if isinstance(batch, int) else 1)

    def probabilities(self, state: pyspiel.State) -> dict[int, float] | None:
        """The policy's answer at a state where a player acts, by action; None if the
        policy can only be read with a tree."""
        policy = self.policy
        if not hasattr(policy, "action_probabilities"):
            return None
        return Answers(policy).action_probabilities(state)


def _of_solver(solver: Any, prefix: str, ending: str = "") -> list[Candidate]:
    """A solver's policies, with its regrets if its rule keeps any."""
    ask, count, found_by = None, getattr(solver, "num_iterations", None), None
    if isinstance(solver, Solver):
        found_by = solver
        if solver.tree.abstraction is None and solver.keeps_regrets:
            tree, vector = solver.tree, solver.regret_vector()

            def regrets(state: pyspiel.State) -> list[float] | None:
                """As they were: None at states that no walk had met by then."""
                # Not by the string: the first search for one indexes millions.
                infoset = tree.find_at(state, state.current_player())
                known = part_at(tree, infoset, vector).tolist() if infoset >= 0 else []
                return known or None

            ask = regrets
    policies = {"average policy": solver.average_policy()}
    if hasattr(solver, "current_policy"):
        policies["current policy"] = solver.current_policy()
    return [
        Candidate(
            f"{prefix}{kind}{ending}", policy, count, solver=found_by, regrets=ask
        )
        for kind, policy in policies.items()
    ]


def part_at(tree: GameTree, infoset: int, vector: np.ndarray) -> np.ndarray:
    """The part of a vector over sequences at an infoset."""
    _, start, _, size, _ = tree.infosets[infoset].item()
    return vector[start : start + size]


def visits_of(
    passes: FullPass, numbers: Numbers, candidate: Candidate
) -> np.ndarray | None:
    """`[I]` estimated number of walks that updated each infoset; None if the solver is
    unknown, or if its algorithm samples nothing.

    Solvers do not count these walks. The estimate multiplies the number of walks by the
    probability that a walk reaches the infoset under the average policy, because the
    policies of earlier iterations are not kept.
    """
    if candidate.solver is None:
        return None
    tree, sampling = passes.table, candidate.solver.algorithm.sampling
    reach = numbers.reach
    if not sampling.is_sampled:
        return None
    if not sampling.opponents:
        reach = passes.reaches(np.ones_like(numbers.plan))
    own = np.ones_like(reach)
    if sampling.player != "all":
        share = {"epsilon": sampling.epsilon, "balanced": 1.0}.get(sampling.player, 0.0)
        mixed = (1 - share) * numbers.policy + share * uniform_vector(tree)
        own = passes.plan(mixed)[tree.infosets["parent"]]
    return candidate.walks * np.minimum(reach, 1.0) * own


def numbers_of(tree: GameTree, policy: np.ndarray, candidate: Candidate) -> Numbers:
    """All numbers of a policy vector, in a few passes over the leaves and the nodes.

    The gain of a best response is split by the performance difference lemma (Kakade,
    Langford 2002): the player's own reach of an infoset under the policy, times what
    the best move there is better than the policy's if a best response follows both.

    Raises:
        ValueError: the tree is not complete, or its leaves do not fit its budget.
    """
    passes = full_pass(tree)
    plan, infosets = passes.plan(policy), tree.infosets
    values, best = passes.after_sequences(policy)
    reach = passes.reaches(plan)
    starts = infosets["first_sequence"]
    played = np.add.reduceat(policy * best, starts)
    gaps = np.maximum(np.maximum.reduceat(best, starts) - played, 0.0)
    gains = plan[infosets["parent"]] * gaps
    returns, best_returns = (one[: tree.num_players].copy() for one in (values, best))
    found = Numbers(policy, plan, reach, values, best, returns, best_returns, gains)
    return found._replace(visits=visits_of(passes, found, candidate))


# --- what a page looks at -------------------------------------------------------------


KEPT_BYTES = 1 << 29
"""That the numbers of all policies take together. Those of two are kept in any case: of
the policy that is looked at, and of the one to compare it with."""

_BYTES_PER_SEQUENCE = 48
"""Of `Numbers`: four arrays [S] and two [I], which are shorter."""

_KEPT = 64

_one_at_a_time = threading.Lock()
"""Whose numbers are being computed: two passes at once would only take turns."""


class Evaluation:
    """A policy over a whole tree, computed in threads when it is first asked for.

    Attributes:
        vector: gives `[S]` the policy, see `Work.result`.
        numbers: gives its Numbers, or its Study in a subgame of hold'em.
        is_wanted: whether an answer may still be asked for.
    """

    def __init__(self, tree: GameTree, candidate: Candidate) -> None:
        """Reads nothing yet."""
        self.is_wanted, policy = True, candidate.policy

        def compute() -> Any:
            with _one_at_a_time:
                if not self.is_wanted:  # a slider has passed it by
                    raise ValueError("Nobody has asked for these values lately.")
                vector = self.vector(None)
                if isinstance(tree, HandArena):
                    return Study(tree.source, SequencePolicy(tree, vector))
                return numbers_of(tree, vector, candidate)

        words = "The policy is still being read; try again in a moment."
        self.vector = Work(lambda: policy_vector(tree, policy), words).result
        self.numbers = Work(
            compute, f"The numbers of {candidate.label} took long."
        ).result


class Subject:
    """What a page looks at.

    Attributes:
        source: the game as it was given; `game` is its turn-based form, `title` its
            name.
        candidates: the policies.
        folder: the first folder of results that was given, if any.
        history: the rows of a solver that was given, if any.
        is_holdem: whether the game is a subgame of hold'em, of which there is a tree of
            hands and none of histories; policies are looked at by a `Study`.
    """

    def __init__(
        self, what: Any, game: pyspiel.Game | str | GameTree | None = None
    ) -> None:
        """Reads what was given and starts to make the tree, unless it is there;
        arguments and errors are those of `explore`."""
        self._tree_given = game if isinstance(game, InfosetTable) else None
        self._game = game.source if isinstance(game, InfosetTable) else game
        self._run = ""
        is_several = isinstance(what, Mapping) and what and not _is_table(what)
        given: Mapping[str, Any] = what if is_several else {"": what}
        self.candidates: list[Candidate] = []
        self.folder: pathlib.Path | None = None
        self.history: Sequence[Mapping[str, Any]] = ()
        for label, one in given.items():
            found = list(self._candidates_of(one, label))
            self.candidates += found
            if isinstance(one, str | os.PathLike):
                if self.folder is None and pathlib.Path(one).is_dir():
                    self.folder, self._run = pathlib.Path(one).resolve(), found[0].label
            elif hasattr(one, "average_policy"):
                self.history = self.history or getattr(one, "history", ())
                if self._tree_given is None:
                    self._tree_given = getattr(one, "tree", None)
        if not self.candidates:
            raise ValueError("There is nothing to explore: give a solver or a policy.")
        in_memory = [one.policy for one in self.candidates if one.read is None]
        self.source = load_game(self._game or _game_of(in_memory))
        self.game, self.title = turn_based(self.source), title(self.source)
        for which, candidate in enumerate(self.candidates):
            if candidate.read is None:
                self.candidate(which)
        trees = [self._tree_given, *(getattr(one, "tree", None) for one in in_memory)]
        tree = next((one for one in trees if is_arena(one)), None)
        self.is_holdem = hasattr(self.game, "subgame")
        self._lock = threading.Lock()
        self._evaluations: OrderedDict[Candidate, Evaluation] = OrderedDict()
        words = "The game's tree is being made."
        if self.is_holdem:
            words = "The hands are being listed; try again in a moment."
        self._tree = Work(lambda: self._whole(tree), words).begin()
        if tree is not None and (tree.is_complete or tree.abstraction is not None):
            self.tree(None)  # which is known at once

    # --- policies --------------------------------------------------------------

    def _candidates_of(self, one: Any, label: str) -> Iterator[Candidate]:
        """The policies of a solver, of a path, or of a policy; errors of `load_policy`.

        Those of a folder are what it reports, what it has kept on the way, and those of
        its checkpoints.
        """
        if isinstance(one, type):
            raise ValueError(f"{one.__name__} is a class, no solver and no policy.")
        if hasattr(one, "average_policy"):
            yield from _of_solver(one, f"{label}: " if label else "")
            return
        if not isinstance(one, str | os.PathLike):
            yield Candidate(label or "policy", one)
            return
        path = pathlib.Path(one)
        name = label or path.name or str(path)
        first = Candidate(name, self._load(path))
        yield first
        steps = {one.iteration: one for one in self._kept_in(path, name)}
        files = (path / (folders.CHECKPOINT + end) for end in (folders.PREVIOUS, ""))
        solvers = {
            one.num_iterations: one for one in map(self._small_solver, files) if one
        }
        solvers.pop(0, None)  # with which the run began
        current = []
        for count, solver in sorted(solvers.items(), reverse=True):
            average, last = _of_solver(solver, f"{name}, ", f" after {count:,}")
            average.run = name
            steps.setdefault(count, average).regrets = average.regrets
            current.append(last)
            if not first.solver:  # of the newest checkpoint, with which the run ended
                first.solver, first.iteration = solver, count
            for one in steps.values():
                one.solver = solver
        yield from steps.values()
        yield from current

    def _load(self, path: pathlib.Path) -> Any:
        tree = self._tree_given
        abstraction = None if tree is None else tree.abstraction
        return load_policy(path, self._game, abstraction=abstraction)

    def _small_solver(self, file: pathlib.Path) -> Solver | None:
        """The solver of a checkpoint; None if none is there that is read at once."""
        try:
            if file.stat().st_size > _LARGEST_CHECKPOINT:
                return None
            tree = self._tree_given
            return Solver.load(file, self._game if tree is None else tree)
        except (OSError, ValueError):  # most folders have no checkpoint left
            return None

    def _kept_in(self, folder: pathlib.Path, name: str) -> list[Candidate]:
        """The policies that a run has kept in its folder on the way, not read yet."""
        return [
            Candidate(
                f"{name}, average policy after {iteration:,}",
                iteration=iteration,
                run=name,
                read=functools.partial(self._load, path),
            )
            for iteration, path in folders.kept_policies(folder).items()
        ]

    def look_again(self) -> int:
        """Adds the policies that the folder's run has kept since; returns how many
        policies there are now."""
        if self.folder is not None:
            with self._lock:
                mine = [one for one in self.candidates if one.run == self._run]
                known = {one.iteration for one in mine}
                found = self._kept_in(self.folder, self._run)
                self.candidates += [one for one in found if one.iteration not in known]
        return len(self.candidates)

    def candidate(self, which: int) -> Candidate:
        """A candidate whose policy has been read.

        Raises:
            ValueError, OSError: its file is damaged or gone, or is of another game.
        """
        candidate = self.candidates[which]
        own = getattr(candidate.policy, "game", None)
        if isinstance(own, pyspiel.Game) and not any(
            same_name(own, one) for one in (self.source, self.game)
        ):
            raise ValueError(
                f"{candidate.label} is a policy for {own}, not for "
                f"{brief(self.source)}: one page shows policies for one game."
            )
        return candidate

    # --- the tree ----------------------------------------------------------------

    def _whole(self, tree: GameTree | None) -> GameTree:
        if self.is_holdem:
            return complete_table(tree or self.source, store="worlds")
        if tree is not None and tree.abstraction is not None:
            raise ValueError(
                "The policy is shown at each state, without values, best responses "
                "and lists. With an abstraction players may forget, so there are none."
            )
        try:
            if tree is None:
                return GameTree(self.source, max_nodes=MOST_NODES).expand_all()
            return table_beside(tree, self.source, max_nodes=MOST_NODES)
        except Exception as error:  # games raise what they like
            raise ValueError(
                "The policy is shown at each state; values, best responses and lists "
                f"need the game's whole tree, which is not there. {error}"
            ) from error

    def tree(self, seconds: float | None = 0.0) -> GameTree | None:
        """The whole tree of histories; None if it is not there after that time."""
        try:
            return self.need_tree(seconds)
        except ValueError:
            return None

    def state_of_tree(self) -> tuple[str, str]:
        """Says "ready", "working", "hands" or "none" of the tree of histories, and why
        it is not there."""
        try:
            self.need_tree(0.0)
        except WorkingError as error:
            return "working", str(error)
        except ValueError as error:
            return "hands" if self.is_holdem else "none", str(error)
        return "ready", ""

    def need_tree(self, seconds: float | None = PATIENCE) -> GameTree:
        """The whole tree of histories.

        Raises:
            ValueError: there is none; the message says why.
            WorkingError: it is being made, and is not there after that time.
        """
        if self.is_holdem:
            raise ValueError(
                "Hands are looked at all together: see Cards. There are no lists."
            )
        return self._tree.result(seconds)

    def need_infosets(self) -> GameTree:
        """The whole tree, or that of hands; errors of `need_tree`."""
        return self._tree.result(LONG) if self.is_holdem else self.need_tree()

    # --- numbers -----------------------------------------------------------------

    def evaluation(self, candidate: Candidate) -> Evaluation:
        """The evaluation of a policy, begun if need be; what was asked for least lately
        is forgotten.

        Raises:
            ValueError: the tree is not there.
        """
        tree = self.need_infosets()
        with self._lock:
            if candidate not in self._evaluations:
                self._evaluations[candidate] = Evaluation(tree, candidate)
            self._evaluations.move_to_end(candidate)
            most = KEPT_BYTES // (_BYTES_PER_SEQUENCE * tree.num_sequences)
            while len(self._evaluations) > max(2, min(_KEPT, most)):
                self._evaluations.popitem(last=False)[1].is_wanted = False
            return self._evaluations[candidate]

    def rows(self) -> dict[str, Any]:
        """The columns of numbers in the folder's results.csv, as far as the run is, or
        else in the solver's history."""
        rows, running = self.history, False
        if self.folder is not None:
            rows, _ = folders.read_table(self.folder / folders.RESULTS)
            # A run that was killed leaves its lock behind. To try the lock would keep a
            # run from starting in that moment.
            running = (self.folder / folders.LOCK).exists()
        rows = rows[-_MOST_ROWS:]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [_number(row.get(name)) for row in rows] for name in names}
        columns = {k: v for k, v in columns.items() if v.count(None) < len(rows)}
        return {"columns": columns, "running": running}


_MOST_ROWS = 5_000


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _is_table(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is itself a policy: of strings to actions' probabilities."""
    first = next(iter(value.values()))
    rows = isinstance(first, Mapping) and not any(
        isinstance(one, Mapping) for one in first.values()
    )
    return "policy" in value or rows


def _game_of(policies: Sequence[Any]) -> pyspiel.Game:
    games = (getattr(policy, "game", None) for policy in policies)
    found = next((one for one in games if isinstance(one, pyspiel.Game)), None)
    if found is None:
        kind = type(policies[0]).__name__
        raise ValueError(f"This {kind} does not name its game; give it (game=...).")
    return found
