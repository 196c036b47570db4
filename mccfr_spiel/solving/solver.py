"""Solver: runs an algorithm on a game and returns its policies.

The learned tables are in `solving.state`, the loop over the kernel is in
`solving.slices`, and checkpoints are in `solving.files`.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from mccfr_spiel.algorithms import (
    EXTERNAL_SAMPLING,
    Algorithm,
    Averaging,
    Minimizer,
    Sampling,
    algorithm_of,
    own_parts_of,
)
from mccfr_spiel.arenas.choosing import choose_arena
from mccfr_spiel.arenas.infosets.lock import reads
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.request import Game, Limits
from mccfr_spiel.arenas.tree.cutting import checked_threads
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES
from mccfr_spiel.common import checkpoint, display, refusals
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving import files, summary
from mccfr_spiel.solving.gap_tracking import GapTracking
from mccfr_spiel.solving.history import Given, History
from mccfr_spiel.solving.load_options import LoadOptions
from mccfr_spiel.solving.locking import Locks
from mccfr_spiel.solving.measured_runs import goal_of, run_and_measure
from mccfr_spiel.solving.new_state import new_state
from mccfr_spiel.solving.slices import ENDLESS, SliceRunner

if TYPE_CHECKING:  # a module that only solvers with a cluster import
    from mccfr_spiel.solving.crews import Cluster


class Solver(GapTracking):
    """Runs an algorithm on a game: call `iterate`, then ask for a policy.

        solver = Solver("leduc_poker", EXTERNAL_SAMPLING, seed=0)
        solver.iterate(100_000)
        solver.average_policy()

    All methods are thread-safe. Of several solvers on one tree, only one runs at a
    time. Calls from other threads wait; about every quarter of a second the running
    solver lets them proceed. A signal handler, a method of the game or an abstraction
    may call a solver while the same thread is running a solver on the same tree. Such a
    call may read policies between two steps of `iterate` (a step is a change of the
    tree or of the tables). Calls in the middle of a step, and all such calls of
    `iterate`, raise TreeInUseError.

    Copies and unpickled solvers are independent, with identical later results.

    With an abstraction, players may forget, and no convergence theorem applies. All
    histories with the same string share one row of the tables (kernels/visits.py).

    Args:
        game: an OpenSpiel game with information-state strings and explicit chance
            outcomes, a load string, or a GameTree. Simultaneous moves are converted to
            turns. A GameTree replaces the arguments max_nodes, max_memory, abstraction
            and twin.
        algorithm: an algorithm such as `ms.CFR_PLUS`, or a name in `ms.ALGORITHMS`.
        seed: any integer. Game, algorithm and seed determine every result.
        max_nodes: the largest number of nodes in memory. Sampling algorithms drop all
            nodes at this limit and expand them again; others raise ValueError.
        max_memory: bytes, or a string such as "4GiB", for the tree and the tables; by
            default half of the free memory. Algorithms that need the whole tree are
            refused if it cannot fit. Sampling algorithms drop nodes, and raise
            MemoryBudgetError once the visited infosets fill the memory. After `save`,
            `load` with a larger max_memory continues with the same results.
        abstraction: replaces the information-state strings, see `GameTree`. It works
            with regret matching and regret matching+, with every sampling except
            balanced and average-strategy sampling, but not with pruning by regret.
        twin: whether to use the game's twin (this package's compiled version of an
            OpenSpiel game), see `GameTree`. Only the numbering of infosets depends on
            it.
        store: stored representation of the game. "tree": the visited nodes. "none":
            only infosets; sampling walks then run compiled rules, number infosets by
            first visit, and have the same results to the bit, and other algorithms pass
            over all histories. "worlds": the worlds that a game declares (see
            `rules.Description`), for algorithms that do not sample. "blocks": tables of
            float32 for games of cards and rules that keep regrets. "auto": blocks for
            subgames of hold'em; otherwise a whole tree if it fits, or "worlds".
            Sampling algorithms use a whole tree, if the game has compiled rules, or a
            large game has a twin, and at most 20 million nodes; otherwise "none" with
            such rules, or a growing tree.
        threads: the largest number of threads for a pass over the whole tree (as in CFR
            and `ms.metrics`) or for the walks of a batch; None for one per core.
            Results do not depend on this number, to the bit. Fewer threads are used if
            more would not save time. A single thread is used for abstractions, update
            rules in plain Python, unbatched walks, walks with baselines or
            average-strategy sampling, and walks on growing trees.
        cluster: other processes that share the batches of walks, such as
            `ms.cluster.Ray(workers=4)`. Each process stores the whole tree. Results do
            not depend on the cluster, to the bit. Algorithms whose batches cannot be
            shared among threads are refused. Copies of the solver have no cluster.
        locked: information-state string -> probabilities of the legal actions, in order
            or by action. The policy at these infosets is fixed. The algorithm must
            neither sample nor prune.

    Raises:
        TreeFullError, MemoryBudgetError: (both ValueError) the algorithm needs the
            whole tree, which exceeds max_nodes or max_memory.
        ValueError: the game cannot be solved at all (see `GameTree`), or not by this
            algorithm with these arguments.

    Attributes:
        arena: representation of the game in which the algorithm runs (arenas/arena.py).
        tree: the arena's information sets; a GameTree if nodes are stored.
        lock: the arena's lock; methods hold it, `iterate` in slices.
        algorithm, seed, threads: as given.
        cluster: the `ClusterBatches` of the solver, or None.
        history: the rows recorded by `run`; files and copies do not include them.
        state: the learned tables and the progress of the current walk.
        slices: runs the compiled loop over iterations in short slices.
        most_iterations: the largest number of iterations before the weights of the
            average overflow.
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
        self.history = History()
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
        self.state: Any = new_state(
            self.arena,
            algorithm,
            self.seed,
            self.threads,
            splits=cluster is not None,
            locked=locked,
        )
        self.cluster: Any = None  # a ClusterBatches
        if cluster is not None:
            from mccfr_spiel.solving.cluster_batches import ClusterBatches

            self.cluster = ClusterBatches(cluster, self.state)
        self.slices = SliceRunner(self.state, self.cluster)
        self.most_iterations = self.slices.most_iterations

    @property
    def store(self) -> str:
        """What is stored of the game: "tree", "none" or "worlds", see the argument."""
        return self.tree.store

    # --- display -------------------------------------------------------------

    def __str__(self) -> str:
        """Game, algorithm, finished iterations, and the NashConv in the last row of
        `history`."""
        return summary.in_words(self)

    @display.never_raises
    def __repr__(self) -> str:
        return display.line(self, str(self))

    @display.never_raises
    def _repr_html_(self) -> str:
        return summary.as_html(self)

    # --- running -----------------------------------------------------------

    @property
    def num_iterations(self) -> int:
        """The number of finished iterations. Each iteration updates all players."""
        return self.state.num_iterations

    @property
    def nodes_touched(self) -> int:
        """The number of nodes visited by all walks, including chance nodes and leaves.

        Algorithms that do not walk pass over the whole tree; each pass counts all nodes
        once per updated player.
        """
        return self.state.counts[layout.NODES_TOUCHED]

    @property
    def seconds(self) -> float:
        """The total running time of `iterate`, without compilation."""
        return self.slices.seconds

    def iteration(self) -> None:
        """Runs one iteration."""
        self.iterate(1)

    def iterate(self, num_iterations: int) -> None:
        """Runs iterations.

        After Ctrl-C (KeyboardInterrupt) the solver is between two updates, and the next
        call continues from there.

        Args:
            num_iterations: the number of iterations, at least 0.

        Raises:
            ValueError: `num_iterations` is negative or not an integer, a walk visits a
                state that `GameTree.expand` refuses, or a history is too unlikely for
                outcome sampling.
            MemoryBudgetError: (a ValueError) the visited infosets fill `max_memory`.
                The solver is in the state before the walk that did not fit. It can
                return policies and can be saved.
        """
        left = num_iterations
        if type(left) is not int or left < 0:
            left = refusals.integer(left, "num_iterations", 0)
        if self.most_iterations < ENDLESS:
            self.slices.check_iterations(self.num_iterations + left)
        while left > 0:
            left -= self.slices.run(left, ENDLESS)

    def iterate_until(self, nodes_touched: float) -> None:
        """Runs iterations until at least `nodes_touched` nodes have been touched in
        total.

        The last iteration is completed, so the total may be larger. Errors are those of
        `iterate`.
        """
        enough = refusals.count(nodes_touched, "nodes_touched")
        while self.nodes_touched < enough or self.state.counts[layout.PLAYER]:
            self.slices.run(ENDLESS, enough)

    def run(
        self,
        num_iterations: int | None = None,
        *,
        until_nodes: float | None = None,
        until_pot_percent: float | None = None,
        metrics: Given = (),
        callback: Callable[[dict[str, Any]], object] | None = None,
        progress: bool | None = None,
        rows_per_decade: int = 5,
    ) -> History:
        """Runs iterations, records metrics on the way, and returns `history`.

            solver.run(10_000, metrics=ms.metrics.nash_conv, progress=True)

        Rows are recorded when the solver's total number of iterations (or of touched
        nodes, with `until_nodes`) is 1, 2, 3, 4, 6, 10, 16, ..., and at the end. Give
        exactly one of the first three arguments.

        Args:
            num_iterations: the number of further iterations, as in `iterate`.
            until_nodes: the total number of touched nodes at the end, as in
                `iterate_until`.
            until_pot_percent: for subgames of poker, the exploitability at the end in
                percent of the pot. All rows then contain the metric `pot_percent`.
            metrics: a function of the solver, for example from `ms.metrics`, or several
                functions, or a mapping label -> function.
            callback: called with each row, a dictionary. If it returns a true value,
                the run ends.
            progress: whether to show a bar on standard error; by default only on
                terminals.
            rows_per_decade: the number of rows while the number of iterations grows by
                a factor of 10.

        Raises:
            ValueError: not exactly one of the first three arguments is given, or an
                argument is out of range; or see `iterate`.
        """
        goal = goal_of(self, num_iterations, until_nodes, until_pot_percent)
        rows_per_decade = refusals.integer(rows_per_decade, "rows_per_decade", 1)
        return run_and_measure(self, goal, metrics, callback, progress, rows_per_decade)

    # --- policies ----------------------------------------------------------

    @reads
    def current_vector(self) -> np.ndarray:
        """`[S]` the policy of the next iteration, one number per sequence of `tree`."""
        return self.state.policy_vector(is_current=True)

    @reads
    def average_vector(self) -> np.ndarray:
        """`[S]` the average policy, one number per sequence of `tree`.

        If several threads run solvers on one growing tree, the order of the sequences
        depends on the order of their calls.
        """
        return self.state.policy_vector()

    @property
    def keeps_regrets(self) -> bool:
        """Whether the update rule stores cumulative regrets for `regret_vector`."""
        return self.algorithm.minimizer.keeps_regrets

    @reads
    def regret_vector(self) -> np.ndarray:
        """`[S]` the cumulative regrets of the update rule, one per sequence of `tree`.

        These are counterfactual regrets, summed over iterations. Regrets are floored at
        0 or discounted if the update rule does so; iterations since the last visit to
        the infoset are not discounted yet. With sampling, regrets are estimates.

        Raises:
            ValueError: the rule does not store cumulative regrets.
        """
        if not self.keeps_regrets:
            raise ValueError(
                f"{self.algorithm.minimizer} keeps no cumulative regrets. Use regret "
                "matching or a discounted or predictive form of it."
            )
        return self.state.regret_vector()

    @reads
    def current_policy(self) -> SequencePolicy:
        """A copy of the policy of the next iteration, as an OpenSpiel policy."""
        return self.state.policy(is_current=True)

    @reads
    def average_policy(self) -> SequencePolicy:
        """A copy of the present average policy, as an OpenSpiel policy.

        In two-player zero-sum games it converges to an equilibrium. It is uniform
        before the first iteration.
        """
        return self.state.policy()

    # --- saving ------------------------------------------------------------

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the solver into a file, from which `load` resumes exactly.

        The file is written completely or not at all; an existing file is kept as `path`
        + ".previous". An unfinished walk is not saved; the loaded solver repeats the
        walk with the same draws.

        Raises:
            TreeInUseError: a signal handler called this method in the middle of an
                iteration of the same thread.
            OSError: the file cannot be written; an existing one is unchanged.
        """
        checkpoint.save(path, self.contents())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: Game | None = None,
        **options: Unpack[LoadOptions],
    ) -> "Solver":
        """Reads a file that `save` wrote, and continues exactly from there.

        Args:
            path: the file.
            game: the game, if the load string in the file is not sufficient; or the
                complete GameTree, as returned by `load_tree`, to run on.
            **options: settings that are not in the file:
                `abstraction`, `minimizer`, `sampling` and `averaging`: the solver's, if
                they are your own functions (see `algorithms.own_rule`);
                `max_memory`, `threads` and `cluster`: as in `Solver`;
                `twin`: as in `Solver`, for the new tree. It must not be False if the
                saved solver stored infosets only and its walks ran the twin.

        Raises:
            CheckpointError: the file is damaged, or has another game or version; the
                rules of the game have changed; or an abstraction is missing or
                unnecessary.
            ValueError: the game cannot be loaded, or the tree is not complete.
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

        If the file at `path` is damaged or missing, the file `path` + ".previous" is
        read. A damaged file is renamed to `path` + ".damaged". Arguments and errors are
        those of `load`.
        """
        return cls.from_contents(checkpoint.load_newest(path), game, **options)

    @reads
    def __reduce__(self) -> tuple[Any, ...]:
        data = checkpoint.to_bytes(self.contents())
        return _unpickle, (type(self), data, self._not_in_contents())

    def _not_in_contents(self) -> dict[str, Any]:
        """Keyword arguments of `from_contents` for settings that are not in
        `contents()`."""
        tree = self.tree
        options = {"threads": self.threads, "twin": tree.twin}
        options["abstraction"] = tree.abstraction
        return options | own_parts_of(self.algorithm)

    @reads
    def __copy__(self) -> "Solver":
        """Returns an independent solver with the same tables.

        The copy uses the same tree if the tree is complete, and otherwise a new tree.
        """
        tree = self.tree
        game = tree if tree.knows_all_infosets else tree.source
        options, limit = self._not_in_contents(), tree.budget.limit
        return self.from_contents(self.contents(), game, max_memory=limit, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Solver":
        """Copies as `__copy__` does; shares a complete tree, but no tables."""
        return self.__copy__()

    def contents(self) -> checkpoint.Contents:
        """The contents of a checkpoint. The caller must hold the lock."""
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
        """Makes a solver from the contents of a checkpoint.

        The other arguments and the errors are those of `load`.
        """
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
            solver.restore(arrays)
            solver.slices.seconds = float(header["seconds"])
            return solver


def _unpickle(cls: type[Solver], data: bytes, options: dict[str, Any]) -> Solver:
    return cls.from_contents(checkpoint.from_bytes(data), **options)
