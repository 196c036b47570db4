"""Settings: one run as a value, and the checks that need no work.

`Settings` says which game is solved by which method, when the run ends and what it
records. Names, such as those of the command line, become such values in
experiments/flags.py; experiments/runs.py runs them.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pyspiel

from mccfr_spiel.algorithms import EXTERNAL_SAMPLING, SCHEDULES, Algorithm
from mccfr_spiel.evaluation.theory import check_covered
from mccfr_spiel.experiments.algorithm_names import Method, checked, name_of, parts_of
from mccfr_spiel.limits.budget import (
    Budget,
    MaxMemory,
    free_memory,
    in_words,
    parse_bytes,
    resident,
)
from mccfr_spiel.offline.methods import OfflineMethod, check_players
from mccfr_spiel.solver import STORES
from mccfr_spiel.storage.results_folder import load_string
from mccfr_spiel.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.tree.readable import Abstraction

EVALUATIONS = ("exact", "sampled", "none")
"""What `Settings.evaluate` may be."""

_LEAST_MEMORY = 2**20


@dataclass(frozen=True)
class Settings:
    """One run.

        Settings("leduc_poker", ms.CFR_PLUS, until_nodes_touched=1_000_000)

    Attributes:
        game: a load_game string.
        algorithm: an `Algorithm` or an `OfflineMethod`. The name of one in
            `algorithm_names.METHODS`, such as "cfr_plus", is replaced by the value, and
            one in `algorithms.SCHEDULES` by that for a horizon of `iterations`.
        seed: of all draws.
        iterations: how many; in each, every player is updated once.
        until_nodes_touched: if given, it takes the place of `iterations`: the run ends
            with the first iteration after which so many nodes have been touched, and
            rows are spaced by nodes touched.
        until_nash_conv: the run ends at the first row whose NashConv is not above this.
        print_freq: the iterations (or nodes touched, if the run goes by those) between
            two rows; None for log-spaced rows.
        rows_per_decade: the number of log-spaced rows from 10 to 100, and so on.
        rows_from: the first log-spaced row is not due before that.
        keep_policies: how many average policies a run with a folder keeps from 10 to
            100 iterations, from 100 to 1000, and so on (or nodes touched, if it goes by
            those), see `keeping.PolicyKeeper`; None for none but the last. They change
            no row, so settings that differ in nothing else are equal.
        evaluate: "exact" computes NashConv in each row, for which the whole tree must
            fit into memory; "sampled" plays the policy at the end, see playing.py.
        evaluate_last: whether rows have the NashConv of the current policy, too.
        bounds: whether rows have the theorem's bound on NashConv, see
            `runs.make_bound`.
        max_nodes: of the tree, see `GameTree`.
        store: whether an algorithm that samples keeps a tree, see `Solver`.
        max_memory: bytes, or words such as "4GiB", that the whole process may take. By
            default, the run may take half of the memory that is free when it begins. A
            run with evaluate other than "exact" leaves a quarter for the end, when
            policies are written and played. Settings that differ only in what a run
            may take, or in the twin, are equal: they have the same rows.
        twin: whether the game's compiled twin expands the tree, and whether walks and
            plays without a tree go over it, see `GameTree`; no result depends on it.
        allow_imperfect_recall: whether a game is solved whose information-state strings
            forget what a player did or saw, by taking those strings as an abstraction,
            see `Solver`. No theorem covers that, and NashConv cannot be computed.
        threads: how many threads may share a pass over the whole tree, see `Solver`;
            None for one for each core, or for as many of them as a sweep has left for
            this run. They change no row but in its seconds, so settings that differ in
            nothing else are equal.

    Raises:
        ValueError: a number is out of range, a name is unknown, or two settings
            contradict each other.
    """

    game: str = "leduc_poker"
    algorithm: Method = EXTERNAL_SAMPLING
    seed: int = 0
    iterations: int = 20_000_000
    until_nodes_touched: int | None = None
    until_nash_conv: float | None = None
    print_freq: int | None = None
    rows_per_decade: int = 5
    rows_from: int = 1
    evaluate: str = "exact"
    evaluate_last: bool = False
    bounds: bool = False
    max_nodes: int = DEFAULT_MAX_NODES
    max_memory: int | str | None = dataclasses.field(default=None, compare=False)
    twin: bool | None = dataclasses.field(default=None, compare=False)
    store: str = "auto"
    allow_imperfect_recall: bool = False
    threads: int | None = dataclasses.field(default=None, compare=False)
    keep_policies: int | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "game", load_string(self.game))
        method: Any = self.algorithm
        if isinstance(method, str) and method in SCHEDULES:
            method = SCHEDULES[method](self.iterations)
        object.__setattr__(self, "algorithm", checked(method))
        if self.max_memory is not None:
            parse_bytes(self.max_memory)
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} is not at least 1.")
        target = self.until_nash_conv
        if target is not None and not target >= 0:
            raise ValueError(f"until_nash_conv={target} is not at least 0.")
        if self.evaluate not in EVALUATIONS:
            raise ValueError(
                f"evaluate={self.evaluate!r} is none of {', '.join(EVALUATIONS)}."
            )
        if target is not None and self.evaluate != "exact":
            raise ValueError(
                f"until_nash_conv={target} is never known with evaluate="
                f"{self.evaluate}; drop one."
            )
        if self.store not in STORES:
            raise ValueError(f"store={self.store!r} is none of {', '.join(STORES)}.")
        if self.store == "none" and self.evaluate == "exact":
            raise ValueError(
                "store=none keeps no tree, which evaluate=exact takes; use "
                "evaluate=sampled, or drop store=none."
            )
        if self.allow_imperfect_recall:
            self._check_may_forget()
        if self.bounds:
            self._check_has_tree("bounds take")
        if self.evaluate_last:
            self._check_has_tree("evaluate_last takes")
        if isinstance(self.algorithm, OfflineMethod):
            self._check_fits_offline(self.algorithm)

    def _check_may_forget(self) -> None:
        """Raises ValueError for settings that a game of imperfect recall rules out."""
        if self.evaluate == "exact":
            raise ValueError(
                "allow_imperfect_recall=True is given, but evaluate=exact needs a best "
                "response, which no simple algorithm finds for players who forget; use "
                "evaluate=sampled or evaluate=none."
            )
        if self.twin or self.store == "none":
            given = "twin=True" if self.twin else "store=none"
            raise ValueError(
                f"{given} is given, but compiled rules know nothing of players who "
                "forget; drop it or allow_imperfect_recall=True."
            )

    def _check_has_tree(self, what: str) -> None:
        """Raises ValueError if `evaluate` spares the whole tree, which `what` needs."""
        if self.evaluate != "exact":
            raise ValueError(
                f"evaluate={self.evaluate} spares the whole tree, which {what}; use "
                "evaluate=exact."
            )

    def _check_fits_offline(self, method: OfflineMethod) -> None:
        """Raises ValueError for settings that an offline method does not have."""
        self._check_has_tree(f"{method.name} takes")
        nodes = self.until_nodes_touched
        if nodes is not None:
            raise ValueError(
                f"until_nodes_touched={nodes} is given, but {method.name} goes by "
                "iterations; use those."
            )
        if self.evaluate_last:
            raise ValueError(
                f"{method.name} has one policy, no current one beside an average; drop "
                "evaluate_last=True."
            )
        if self.keep_policies is not None and not method.is_iterative:
            raise ValueError(
                f"{method.name} has one policy and none on the way; drop "
                f"keep_policies={self.keep_policies}."
            )
        if self.bounds and not method.is_iterative:
            raise ValueError(
                "A linear program has no curve to bound; drop bounds=True."
            )

    def _replace(self, **changes: Any) -> "Settings":
        """The same settings with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)

    @property
    def is_iterative(self) -> bool:
        """Whether the run approaches its answer, and so has a curve of rows."""
        method = self.algorithm
        return isinstance(method, Algorithm) or method.is_iterative

    @property
    def is_resumable(self) -> bool:
        """Whether the run makes checkpoints, as all online algorithms do."""
        return isinstance(self.algorithm, Algorithm)


_COUNTS = (
    "iterations",
    "until_nodes_touched",
    "print_freq",
    "rows_per_decade",
    "rows_from",
    "threads",
    "keep_policies",
)


def check(settings: Settings) -> None:
    """Raises ValueError if the game cannot be loaded or the method cannot run on it.

    This does not expand the tree: what only the whole tree shows comes up later.
    """
    tree = new_tree(settings)
    if isinstance(settings.algorithm, OfflineMethod):
        check_players(tree)
    elif settings.bounds:
        try:
            check_covered(tree.game, settings.algorithm)
        except ValueError as error:
            raise ValueError(f"bounds=True cannot be had. {error}") from error


def new_tree(settings: Settings, max_memory: MaxMemory = None) -> GameTree:
    """The tree of the settings' game; nothing of it is expanded yet."""
    return GameTree(
        settings.game,
        max_nodes=settings.max_nodes,
        max_memory=max_memory,
        abstraction=abstraction_of(settings),
        twin=settings.twin,
    )


def abstraction_of(settings: Settings) -> Abstraction | None:
    """The game's own strings where they may forget; else None."""
    strings = pyspiel.State.information_state_string
    return strings if settings.allow_imperfect_recall else None


def algorithm_name(settings: Settings) -> str:
    """What is run, in a word for folders and legends, see `algorithm_names.name_of`."""
    return name_of(settings.algorithm)


def algorithm_parts(settings: Settings) -> dict[str, Any]:
    """The name of what is run, and each of its parts by the name of the setting."""
    return parts_of(settings.algorithm)


def measure(settings: Settings) -> str:
    """The column of results.csv by which the run goes: iterations or nodes touched."""
    return "iteration" if settings.until_nodes_touched is None else "nodes_touched"


def budget_of(settings: Settings) -> Budget:
    """The memory that the run's tree and tables may take.

    `max_memory` is for the whole process, so what the process has taken already is
    subtracted.

    Raises:
        ValueError: the process has already taken more than the settings allow.
    """
    if settings.max_memory is None:
        limit, note = free_memory() // 2, ", of the memory that was free"
    else:
        whole, taken = parse_bytes(settings.max_memory), resident()
        limit = whole - taken
        note = f", of the {in_words(whole)} that the process may take"
        if limit < _LEAST_MEMORY:
            raise ValueError(
                f"max_memory={settings.max_memory} is not enough: the program itself "
                f"takes {in_words(taken)} before it begins."
            )
    if settings.evaluate != "exact":
        limit = limit * 3 // 4
    return Budget(max(limit, 1), note=note)
