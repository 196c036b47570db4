"""Solver: runs an algorithm on a game and hands out its policies.

What it has learned is in `solving.state`, how that is saved in `solving.files`.
"""

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack

import numpy as np

from mccfr_spiel.algorithms import (
    EXTERNAL_SAMPLING,
    Algorithm,
    Averaging,
    Minimizer,
    OwnEstimator,
    OwnRule,
    Sampling,
    algorithm_of,
    most_iterations,
    own_parts_of,
)
from mccfr_spiel.arenas.choosing import Game, Limits, choose_arena
from mccfr_spiel.arenas.infosets.lock import reads, runs, steps
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES
from mccfr_spiel.arenas.tree.whole import checked_threads
from mccfr_spiel.common import checkpoint, display, refusals
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import normalize, settle_average
from mccfr_spiel.kernels.jit import IS_COMPILED, working_clock
from mccfr_spiel.kernels.minimizers import FAULT
from mccfr_spiel.kernels.passes import compile_for_threads
from mccfr_spiel.kernels.walk import MAX_WEIGHT
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving import files, running
from mccfr_spiel.solving.locking import Locks
from mccfr_spiel.solving.state import SolverState

if TYPE_CHECKING:  # a module that only solvers with a cluster import
    from mccfr_spiel.solving.cluster import Cluster


class LoadOptions(TypedDict, total=False):
    """What `Solver.load` takes besides the file and the game."""

    abstraction: Abstraction | None
    max_memory: MaxMemory
    minimizer: Minimizer | None
    sampling: Sampling | None
    averaging: Averaging | None
    threads: int | None
    twin: bool | None
    cluster: "Cluster | None"


_ENDLESS = 2**62


class Solver:
    """Runs an algorithm on a game: `iterate`, then ask for a policy.

        solver = Solver("leduc_poker", EXTERNAL_SAMPLING, seed=0)
        solver.iterate(100_000)
        solver.average_policy()

    Any thread may call any method. The solvers on one tree run one at a time; a call
    waits for its turn, which `iterate` gives to others about every quarter of a second.
    A signal handler, a method of the game or an abstraction may call a solver while
    its own thread is already running one on the same tree. Such a call may ask for
    policies between two steps of `iterate`; in the middle of a step, or if it asks for
    iterations, it raises TreeInUseError.

    A copy, or a solver that was unpickled, goes on independently with the same bits.

    With an abstraction, players may forget, and no theorem applies. There is one row
    of tables for a string. A walk computes the regrets of each history as if nobody
    had forgotten anything, adds up those of all histories with the same string, and
    moves the policy afterwards. The average policy of a string weighs the policy of
    each iteration by how likely chance and the player were to go there, summed over
    the histories: stochastically weighted averaging, in which a walk for another
    player adds the policy wherever it passes. It needs two players or more; with
    three the weights also have the moves of the third.

    Args:
        game: any OpenSpiel game that gives information-state strings and lists its
            chance outcomes, its load string, or its GameTree. Simultaneous moves
            become turns.
        algorithm: what to run, such as `ms.CFR_PLUS`, or a name in `ms.ALGORITHMS`.
        seed: any integer. Together with the game and the algorithm it determines
            every result.
        max_nodes: how many nodes are kept. Sampling algorithms drop all nodes when
            there are too many, and meet them again; others raise ValueError. Not
            used with a GameTree, which has its own.
        max_memory: bytes, or words such as "4GiB", that the tree and the tables may
            take; by default half of what the machine, its container or the
            process's limit of address space has free. An algorithm that needs the
            whole tree is refused if the tree cannot fit. One that samples drops
            nodes, and stops with MemoryBudgetError once the infosets that it has
            met fill the memory. It can still be asked for policies, and after
            `save`, `load` with a larger max_memory goes on with the same bits. Not
            used with a GameTree, which has its own.
        abstraction: what replaces the information-state strings, see `GameTree`;
            for regret matching and regret matching+, with any sampling but the
            balanced and the average-strategy one, and without pruning by regret. A
            GameTree has its own.
        twin: whether the game's compiled twin may expand the whole tree, and
            whether walks without a tree may go over it: see `GameTree`, which has
            its own. It changes the time that this takes, and no result but the
            numbers of infosets.
        store: "tree" keeps the nodes that walks meet. "none" keeps no nodes: walks
            follow the compiled rules of the game or of its twin, with the same
            bits, and number infosets in the order in which they meet them;
            algorithms that sample nothing pass over all histories. "worlds" passes
            over the worlds that a game declares (see `rules.Description`), in far
            fewer steps than there are histories; it is for algorithms that sample
            nothing. "auto" makes the whole tree of a game with compiled rules in
            advance if it has at most 20 million nodes and fits max_nodes and
            max_memory. If it does not, sampling algorithms take "none" and others
            "worlds", where the game allows that. A twin counts as compiled rules
            from about half a million nodes on.
        threads: how many threads may share a pass over the whole tree, as CFR and
            `ms.metrics` make them, or the walks of a batch; None for one for each
            core. Results are equal to the bit for any number. Fewer threads run
            where more would gain nothing. One thread runs abstractions, rules in
            plain Python, walks without a batch, with baselines or with
            average-strategy sampling, and walks on trees that grow.
        cluster: where other processes split the batches of walks with this one,
            such as `ms.cluster.Ray(workers=4)`; all of them hold the whole tree.
            Results are equal to the bit with any cluster, and without. It is for
            batches that threads could share; others are refused. Copies of the
            solver have no cluster.
        locked: information-state string -> the probabilities of its legal actions,
            in their order or by action. The policy stays fixed there. Locks are
            for algorithms that sample and prune nothing.

    Raises:
        TreeFullError, MemoryBudgetError: (both ValueError) the algorithm needs the
            whole tree, which does not fit max_nodes or max_memory.
        ValueError: the game cannot be solved (see `GameTree`), or not by this
            algorithm.

    Attributes:
        arena: in which the algorithm runs, see arenas/arena.py.
        tree: the arena's information sets; a GameTree if nodes are kept.
        lock: the arena's lock, which every method takes while it runs.
        algorithm: as given.
        seed: as given.
        threads: as given.
        cluster: what runs batches on a cluster; None without one.
        seconds: time spent in `iterate`, that before a checkpoint included, and that of
            the compiler not.
        history: what `run` has recorded; files and copies have none of it.
        state: what was learned, and where the walk is.
        kernel: the compiled function that runs iterations.
        most_iterations: after more, the weights of the average are infinite.
    """

    def __init__(
        self,
        game: Game,
        algorithm: Algorithm | str = EXTERNAL_SAMPLING,
        *,
        seed: int = 0,
        max_nodes: int = DEFAULT_MAX_NODES,
        max_memory: MaxMemory = None,
        abstraction: Abstraction | None = None,
        twin: bool | None = None,
        store: str = "auto",
        threads: int | None = 1,
        cluster: "Cluster | None" = None,
        locked: Locks | None = None,
    ) -> None:
        """Prepares the algorithm; all policies are uniform."""
        self.algorithm = algorithm = algorithm_of(algorithm)
        self.seed = refusals.integer(seed, "seed")
        self.threads = checked_threads(threads)
        self.most_iterations = most_iterations(algorithm.averaging)
        self.seconds = 0.0
        self.history = running.History()
        sampling = algorithm.sampling
        needs = needs_of(
            algorithm,
            abstraction=abstraction or getattr(game, "abstraction", None),
            cluster=cluster is not None,
            locks=bool(locked),
        )
        limits = Limits(max_nodes, max_memory, twin)
        self.arena = choose_arena(game, needs, store, limits)
        self.tree = self.arena.table
        self.lock = self.tree.lock
        self.state = SolverState(
            self.arena,
            algorithm,
            self.seed,
            self.threads,
            splits=cluster is not None,
            locked=locked,
        )
        self.cluster: Any = None  # a ClusterBatches
        if cluster is not None:
            from mccfr_spiel.solving.cluster import ClusterBatches

            self.cluster = ClusterBatches(cluster, self.state)
        self._counts, self._job = self.state.counts, self.state.job
        self._growth = self.state.engine.growth
        self._slice = 100_000
        self.kernel = self.state.engine.kernel
        is_compiled = IS_COMPILED and getattr(algorithm.minimizer, "compiled", True)
        self._hears_signals = not (is_compiled or isinstance(sampling, OwnEstimator))
        self._has_own_rule = isinstance(algorithm.minimizer, OwnRule)
        if self.state.engine.num_threads > 1:
            compile_for_threads(self.kernel)

    @property
    def store(self) -> str:
        """Where nodes are kept: "tree", "none", or "worlds" in their place."""
        return self.tree.store

    # --- how it looks --------------------------------------------------------

    def __str__(self) -> str:
        """One line with the game, the algorithm, the iterations done, and NashConv.

        NashConv is that of the last row of `history`; it is never computed here.
        """
        words = [display.title(self.tree.source), str(self.algorithm)]
        if self.tree.abstraction is not None:
            words.append("with an abstraction")
        words.append(display.counted(self.num_iterations, "iteration"))
        nash_conv = self._nash_conv_in_words()
        if nash_conv:
            words.append(f"NashConv {nash_conv}")
        return ", ".join(words)

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, str(self))

    @display.never_raises
    def _repr_html_(self) -> str:
        tree = self.tree
        rows = [
            ("game", display.title(tree.source)),
            ("algorithm", str(self.algorithm)),
            ("seed", str(self.seed)),
            ("iterations", f"{self.num_iterations:,}"),
            ("nodes touched", f"{self.nodes_touched:,}"),
            ("seconds", f"{self.seconds:.2f}"),
            ("infosets", f"{tree.num_infosets:,}"),
            ("NashConv", self._nash_conv_in_words() or "not computed yet"),
        ]
        return display.html_table(("", ""), rows, (), caption="Solver")

    def _nash_conv_in_words(self) -> str:
        """The NashConv in the history, and of which iteration if of an earlier one."""
        row = self.history[-1] if self.history else {}
        if "nash_conv" not in row:
            return ""
        at, words = row["iteration"], display.short(row["nash_conv"])
        return words if at == self.num_iterations else f"{words} after {at:,}"

    # --- running -----------------------------------------------------------

    @property
    def num_iterations(self) -> int:
        """The iterations done. An iteration updates every player once."""
        return self._counts[layout.ITERATION] - (self._counts[layout.PLAYER] > 0)

    @property
    def nodes_touched(self) -> int:
        """The nodes that all walks have visited, chance nodes and leaves included. A
        pass over the whole tree counts all of its nodes for each player."""
        return self._counts[layout.NODES_TOUCHED]

    def iteration(self) -> None:
        """Runs one iteration."""
        self.iterate(1)

    def iterate(self, num_iterations: int) -> None:
        """Runs some iterations.

        Ctrl-C (KeyboardInterrupt) does no harm: the solver then stands between two
        updates, and goes on from there when it is called again.

        Args:
            num_iterations: how many, at least 0.

        Raises:
            ValueError: `num_iterations` is negative or no integer, or a walk meets a
                state that `GameTree.expand` refuses, or a history too unlikely for
                outcome sampling.
            MemoryBudgetError: (a ValueError) what walks have met fills `max_memory`.
                The solver stands before the walk that did not fit; it can be asked for
                policies, and saved.
        """
        left, most = num_iterations, self.most_iterations
        if type(left) is not int or left < 0:
            left = refusals.integer(left, "num_iterations", 0)
        if most < _ENDLESS and self.num_iterations + left > most:
            self._refuse_iterations()
        while left > 0:
            left -= self._iterate_slice(left, _ENDLESS)

    def iterate_until(self, nodes_touched: float) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched.

        The last iteration is run to its end. Errors as in `iterate`.
        """
        enough = refusals.count(nodes_touched, "nodes_touched")
        while self.nodes_touched < enough or self._counts[layout.PLAYER]:
            self._iterate_slice(_ENDLESS, enough)

    def run(
        self,
        num_iterations: int | None = None,
        *,
        until_nodes: float | None = None,
        until_pot_percent: float | None = None,
        metrics: running.Given = (),
        callback: Callable[[dict[str, Any]], object] | None = None,
        progress: bool | None = None,
        rows_per_decade: int = 5,
    ) -> running.History:
        """Runs iterations and measures the solver on the way; returns `history`.

            solver.run(10_000, metrics=ms.metrics.nash_conv, progress=True)

        Rows are due at 1, 2, 3, 4, 6, 10, 16, ... iterations (or nodes touched, with
        `until_nodes`) since the solver began, and at the end.

        Args:
            num_iterations: how many more, as in `iterate`.
            until_nodes: in its place, how many nodes have been touched in all when the
                run ends, as in `iterate_until`.
            until_pot_percent: in their place, the exploitability in percent of the pot
                with which the run ends, for subgames of poker. It is measured in each
                row, as `pot_percent`.
            metrics: functions of the solver, one or several, or label -> function;
                `ms.metrics` has some.
            callback: is called with each row, a dictionary. The run ends if it returns
                something true.
            progress: whether to show a bar on standard error; by default only if that
                is a terminal.
            rows_per_decade: how many rows are due from 10 to 100, and so on.

        Raises:
            ValueError: not exactly one of the first three is given, or an argument is
                wrong; or as in `iterate`.
        """
        ends = num_iterations, until_nodes, until_pot_percent
        if [end is None for end in ends].count(False) != 1:
            raise ValueError(
                "Give either num_iterations, until_nodes or until_pot_percent."
            )
        if not (callback is None or callable(callback)):
            raise ValueError(f"callback={callback!r} is not a function of a row.")
        rows_per_decade = refusals.integer(rows_per_decade, "rows_per_decade", 1)
        labels, column, goal = running.labelled(metrics, {}), "iteration", -1.0
        if until_pot_percent is not None:
            last = self.most_iterations
            labels = {"pot_percent": running.pot_percent(self.tree.game), **labels}
            goal = refusals.number(
                until_pot_percent, "until_pot_percent", 0.0, math.inf, open_low=True
            )
        elif num_iterations is not None:
            more = refusals.integer(num_iterations, "num_iterations", 0)
            last = self.num_iterations + more
        else:
            column = "nodes_touched"
            last = refusals.count(until_nodes, "until_nodes")
        start = getattr(self, running.COUNTERS[column])
        dues = running.log_spaced(start + 1, last, rows_per_decade)
        with display.Bar(
            total=last - start,
            disable=display.hides_bar(progress),
            unit_scale=True,
            unit=f" {column}",
        ) as bar:

            def watch(done: int) -> None:
                bar.update(min(done, last) - start - bar.n)

            for _ in running.reached(self, column, dues, watch):
                row = running.row_of(self, labels)
                self.history.append(row)
                is_asked = callback is not None and callback(row)
                if is_asked or (goal > 0 and row["pot_percent"] <= goal):
                    break
        return self.history

    def _refuse_iterations(self) -> NoReturn:
        gamma = self.algorithm.averaging.gamma
        raise ValueError(
            f"After more than {self.most_iterations} iterations, of which "
            f"{self.num_iterations} are done, the weights t ** {gamma:g} of the "
            "average would add up to more than a floating-point number holds. Make the "
            "solver with a smaller gamma (polynomial)."
        )

    def _run(self, most_iterations: int, most_nodes: int) -> int:
        """Runs one slice of iterations, under the lock; returns how many it finished.

        No iteration begins once `most_nodes` nodes have been touched. A slice may end
        in the middle of a walk; what was learned is then that of the update before.
        """
        self.state.check_own_rule()
        if self.cluster is not None:
            self.cluster.get_ready()
        began = working_clock()
        counts, job, state = self._counts, self._job, self.state
        done = self.num_iterations
        if state.marks[layout.TOP]:
            self._growth.go_on()
        if done >= self.most_iterations:
            self._refuse_iterations()
        last = min(done + most_iterations, self.most_iterations)
        job[layout.LAST_ITERATION] = state.weigh_ahead(done, last)
        touched = counts[layout.NODES_TOUCHED]
        job[layout.NODE_LIMIT] = min(touched + self._slice, most_nodes)
        job[layout.PAUSE_LIMIT] = (
            touched + state.marks[layout.TOUCHED] + 2 * self._slice
        )
        # One pass runs the kernel until it is done or needs something that only Python
        # can give it: nodes that were not expanded, a higher stack, or, in the midst of
        # a long walk, an ear for Ctrl-C. The kernel leaves all that it needs to go on
        # in the state.
        while (status := self._call_kernel()) != layout.DONE:
            if status == layout.GROW:
                self._growth.grow(state.tables, state.walk)
                # At nearly all stops nobody waits, and the clock is not asked.
                is_due = (
                    self.lock.waiting
                    and working_clock() - began > running.SLICE_SECONDS
                )
                if is_due and not self._growth.must_finish(state.walk):
                    break
            elif status == layout.STACK_FULL:
                state.raise_stack()
            elif status == layout.PAUSED:
                self._growth.look(state.tables, state.walk)
                if not self._growth.must_finish(state.walk):
                    break
                job[layout.PAUSE_LIMIT] += 2 * self._slice
            elif status != layout.TOO_UNLIKELY:
                self._growth.raise_broken(status)
            else:
                raise ValueError(
                    f"Games of {display.brief(self.tree.source)} are so long that "
                    "outcome sampling met a history of a probability below "
                    f"{1 / MAX_WEIGHT:.0e}, or its payoffs so large that one "
                    f"over its probability exceeds {MAX_WEIGHT:.0e}: an "
                    "unbiased estimate no longer fits a floating-point number. Use a "
                    "shorter game, or smaller payoffs."
                )
        self.arena.update()
        seconds = working_clock() - began
        self.seconds += seconds
        self._slice = running.next_slice(self._slice, seconds)
        return self.num_iterations - done

    _iterate_slice = runs(_run)

    def _call_kernel(self) -> int:
        """Calls the kernel with all arrays as they are now; returns its status."""
        state, growth, lock = self.state, self._growth, self.lock
        frame = state.frame()
        growth.refit(state.walk)
        status = layout.NEEDS_ONE_THREAD
        lock.in_kernel = True
        try:
            if self.cluster is not None and self.cluster.pays():
                status = self.cluster.run()
            if status == layout.NEEDS_ONE_THREAD:
                run = self._interpret if self._hears_signals else self._run_engine
                status = run(self.kernel, frame)
        except BaseException:  # Ctrl-C is heard in plain rules, too
            if self._has_own_rule:
                state.tables.memory[FAULT] = -1.0
            raise
        finally:
            lock.in_kernel = False
        self.state.check_own_rule()
        return status

    @steps
    def _interpret(self, kernel: Any, frame: np.ndarray) -> int:
        """Runs the kernel where signals are heard in its middle: with the JIT off, or
        with a rule in plain Python."""
        return self._run_engine(kernel, frame)

    def _run_engine(self, kernel: Any, frame: np.ndarray) -> int:
        return self.state.engine.run(self.state, kernel, frame)

    # --- policies ----------------------------------------------------------

    @reads
    def current_vector(self) -> np.ndarray:
        """`[S]` the policy that the next iteration uses, over the tree's sequences."""
        return self.state.settled().policy[: self.tree.num_sequences].copy()

    @reads
    def average_vector(self) -> np.ndarray:
        """`[S]` the average policy, over the tree's sequences.

        On a growing tree the order of sequences depends on calls from other threads.
        """
        infosets, tables = self.tree.infosets, self.state.settled()
        average = tables.average[: self.tree.num_sequences].copy()
        if self.state.walks and self.tree.abstraction is None:
            # On copies, so that asking never changes a later bit.
            settle_average(infosets, tables.policy, average, tables.paid)
        average[: self.tree.num_players] = 1
        normalize(infosets, average)
        is_locked = self.state.locked_sequences()
        average[is_locked] = tables.policy[is_locked]
        return average

    @property
    def keeps_regrets(self) -> bool:
        """Whether the rule plays by cumulative regrets, which `regret_vector` gives."""
        return self.algorithm.minimizer.keeps_regrets

    @reads
    def regret_vector(self) -> np.ndarray:
        """`[S]` the cumulative regrets by which the rule plays, over the sequences.

        They are counterfactual (weighted by how chance and the others play to the
        infoset), summed over iterations, floored and discounted as the rule does. In
        walks that sample they are estimates, and a discounting rule's are those of the
        walk that last met the infoset.

        Raises:
            ValueError: the rule keeps something else.
        """
        if not self.keeps_regrets:
            raise ValueError(
                f"{self.algorithm.minimizer} keeps no cumulative regrets; regret "
                "matching and its discounted and predictive forms do."
            )
        regrets = self.state.settled().memory[: self.tree.num_sequences].copy()
        regrets[: self.tree.num_players] = 0
        return regrets

    @reads
    def current_policy(self) -> SequencePolicy:
        """A snapshot of the policy that the next iteration uses."""
        return SequencePolicy(self.tree, self.current_vector())

    @reads
    def average_policy(self) -> SequencePolicy:
        """A snapshot of the average policy.

        In two-player zero-sum games it approaches an equilibrium. Before the first
        iteration it is uniform.
        """
        return SequencePolicy(self.tree, self.average_vector())

    # --- saving ------------------------------------------------------------

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the solver into a file, from which `load` resumes exactly.

        The file appears whole or not at all. An older one is kept as `path` +
        ".previous". A walk that has not ended is no part of it: whoever loads the file
        makes that walk again, with the same draws.

        Raises:
            TreeInUseError: a signal handler wants to save while its own thread is in
                the middle of an iteration.
            OSError: the file cannot be written; an older one is as it was.
        """
        checkpoint.save(path, self.contents())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: Game | None = None,
        **options: Unpack[LoadOptions],
    ) -> "Solver":
        """Reads what `save` wrote, to go on as if nothing had happened.

        Args:
            path: the file.
            game: the game, if its load string is not enough to make it; or its complete
                GameTree, as `load_tree` returns it, to run on that tree.
            **options: what a file does not remember:
                `abstraction`, `minimizer`, `sampling` and `averaging`: the solver's, if
                they are functions of your own (see `algorithms.own_rule`);
                `max_memory`, `threads` and `cluster`: as in `Solver`;
                `twin`: as in `Solver`, for the tree that is made. A file of walks over
                a twin cannot be loaded without that.

        Raises:
            CheckpointError: the file is damaged, of another game or version, or the
                game's rules have changed since; or an abstraction is missing, or given
                for a solver that had none.
            ValueError: the file's game cannot be loaded, or the tree is not complete.
            OSError: the file cannot be read.
        """
        return cls.from_contents(checkpoint.load(path), game, **options)

    @classmethod
    def load_newest(
        cls,
        path: str | os.PathLike[str],
        game: Game | None = None,
        **options: Unpack[LoadOptions],
    ) -> "Solver":
        """Reads the newest undamaged file that `save` wrote to a path.

        If the file at `path` is damaged or missing, that is the one before it, `path` +
        ".previous", and the damaged one is renamed to `path` + ".damaged". Arguments
        and errors are those of `load`.
        """
        return cls.from_contents(checkpoint.load_newest(path), game, **options)

    @reads
    def __reduce__(self) -> tuple[Any, ...]:
        data = checkpoint.to_bytes(self.contents())
        return _unpickle, (type(self), data, self._not_in_contents())

    def _not_in_contents(self) -> dict[str, Any]:
        """What `from_contents` has to be told."""
        tree, own = self.tree, own_parts_of(self.algorithm)
        how = {"threads": self.threads, "twin": tree.twin}
        return {"abstraction": tree.abstraction} | how | own

    @reads
    def __copy__(self) -> "Solver":
        """Another solver that goes on from here independently.

        It shares the tree if that is complete, and otherwise gets a tree of its own.
        """
        tree = self.tree
        game = tree if tree.knows_all_infosets else tree.source
        own, limit = self._not_in_contents(), tree.budget.limit
        return self.from_contents(self.contents(), game, max_memory=limit, **own)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Solver":
        """As `__copy__`, since the two share nothing that either of them changes."""
        return self.__copy__()

    # --- in memory -----------------------------------------------------------

    def contents(self) -> checkpoint.Contents:
        """What `save` writes, in memory. Call it where nothing else runs the solver."""
        state = self.state
        state.check_own_rule()
        state.start_infosets()
        return files.contents_of(state, self.seconds)

    @classmethod
    def from_contents(
        cls,
        contents: checkpoint.Contents,
        game: Game | None = None,
        *,
        abstraction: Abstraction | None = None,
        max_memory: MaxMemory = None,
        minimizer: Minimizer | None = None,
        sampling: Sampling | None = None,
        averaging: Averaging | None = None,
        threads: int | None = 1,
        twin: bool | None = None,
        cluster: "Cluster | None" = None,
    ) -> "Solver":
        """The solver of such contents; arguments and errors are those of `load`."""
        with checkpoint.odd_contents_in_words():
            header, arrays = contents
            tree = files.arena_of_file(contents, game, abstraction, max_memory, twin)
            parts = {
                "minimizer": minimizer,
                "sampling": sampling,
                "averaging": averaging,
            }
            solver = cls(
                tree,
                files.algorithm_of_file(header["algorithm"], parts),
                seed=header["seed"],
                threads=threads,
                cluster=cluster,
            )
            files.check_rules(contents, solver.state, game)
            solver.state.restore(arrays)
            solver.seconds = float(header["seconds"])
            return solver


def _unpickle(cls: type[Solver], data: bytes, own: dict[str, Any]) -> Solver:
    return cls.from_contents(checkpoint.from_bytes(data), **own)
