"""One run as a value: the game, the method, when the run ends and what it records.

`Settings` checks its fields and their combinations without loading the game.
`run_solvers.py` checks the rest and makes the solver.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mccfr_spiel.algorithms import EXTERNAL_SAMPLING, SCHEDULES, Algorithm
from mccfr_spiel.arenas.request import STORES
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES
from mccfr_spiel.common.memory import parse_bytes
from mccfr_spiel.experiments.algorithm_names import Method, checked
from mccfr_spiel.experiments.load_strings import load_string
from mccfr_spiel.experiments.setting_conflicts import contradictions
from mccfr_spiel.experiments.setting_tables import fields_of

EVALUATIONS = ("exact", "sampled", "none")
"""The values of `Settings.evaluate`."""


@dataclass(frozen=True)
class Settings:
    """One run.

        Settings("leduc_poker", ms.CFR_PLUS, until_nodes_touched=1_000_000)

    The fields are flags of `mccfr-spiel solve`, and `mccfr-spiel solve --helpfull`
    describes them. The same text is in `FIELDS[name].help`.

    `algorithm` is an `Algorithm` or an `OfflineMethod`. A name such as "cfr_plus" is
    replaced by its value. "hs_dcfr" and "hs_pcfr_plus" get the horizon `iterations`.

    Two runs with equal settings have equal rows. Equality therefore ignores the limits
    on resources (max_memory, twin, threads) and the number of kept policies.

    Raises:
        ValueError: a number is out of range, a name is unknown, or two settings
            contradict each other.
    """

    game: str = field(
        default="leduc_poker",
        metadata={
            "kind": str,
            "help": "Game, as a string that pyspiel.load_game accepts, or as the path "
            "of an .efg or .nfg file.",
        },
    )
    algorithm: Method = field(
        default=EXTERNAL_SAMPLING,
        metadata={
            "kind": object,
            "help": "Algorithm.",
        },
    )
    seed: int = field(
        default=0,
        metadata={
            "kind": int,
            "help": "Seed of all random draws.",
        },
    )
    iterations: int = field(
        default=20_000_000,
        metadata={
            "kind": int,
            "help": "Number of iterations. Each iteration updates every player once.",
            "least": 1,
        },
    )
    until_nodes_touched: int | None = field(
        default=None,
        metadata={
            "kind": int,
            "help": "Stop after the first iteration that brings the number of nodes "
            "touched to at least this number. It replaces --iterations, and rows are "
            "spaced by nodes touched.",
            "least": 1,
        },
    )
    until_nash_conv: float | None = field(
        default=None,
        metadata={
            "kind": float,
            "help": "Stop at the first row whose NashConv is at most this number.",
            "least": 0,
        },
    )
    until_pot_percent: float | None = field(
        default=None,
        metadata={
            "kind": float,
            "help": "Stop at the first row whose exploitability is at most this "
            "percentage of the pot. Only for subgames of poker.",
            "least": 0,
        },
    )
    print_freq: int | None = field(
        default=None,
        metadata={
            "kind": int,
            "help": "Iterations between two rows, or nodes touched with "
            "--until_nodes_touched (default: logarithmic spacing).",
            "least": 1,
        },
    )
    rows_per_decade: int = field(
        default=5,
        metadata={
            "kind": int,
            "help": "Number of logarithmically spaced rows from 10 to 100 iterations, "
            "from 100 to 1000, and so on, without --print_freq.",
            "least": 1,
        },
    )
    rows_from: int = field(
        default=1,
        metadata={
            "kind": int,
            "help": "First iteration (or number of nodes touched) with a row, without "
            "--print_freq.",
            "least": 1,
        },
    )
    keep_policies: int | None = field(
        default=None,
        compare=False,
        metadata={
            "kind": int,
            "help": "Number of average policies to keep from 10 to 100 iterations, "
            "from 100 to 1000, and so on, as policy_after_10.bin etc.; 1 keeps those "
            "after powers of ten (default: only the last policy). They are the steps "
            "of the slider of mccfr-spiel explore.",
            "least": 1,
        },
    )
    evaluate: str = field(
        default="exact",
        metadata={
            "kind": str,
            "help": "How the policy is evaluated. exact: by NashConv in each row, "
            "which needs the whole tree or the worlds of the game. sampled: by playing "
            "at the end of the run, which estimates the values and a lower bound on "
            "the gain of a best response (evaluation.json). none: not at all.",
            "choices": EVALUATIONS,
        },
    )
    evaluate_last: bool = field(
        default=False,
        metadata={
            "kind": bool,
            "help": "Add the NashConv of the current policy, the last iterate, to each "
            "row and to the figure.",
        },
    )
    bounds: bool = field(
        default=False,
        metadata={
            "kind": bool,
            "help": "Add the theoretical bound on NashConv to results.csv and to the "
            "figure. For sampling algorithms it holds with probability 0.95.",
        },
    )
    max_nodes: int = field(
        default=DEFAULT_MAX_NODES,
        metadata={
            "kind": int,
            "help": "Maximum number of tree nodes in memory.",
            "least": 1,
        },
    )
    max_memory: int | str | None = field(
        default=None,
        compare=False,
        metadata={
            "kind": int | str,
            "help": "Maximum memory of the program, in bytes or with a unit, such as "
            "4GiB (default: half of the free memory). A game whose whole tree cannot "
            "fit is refused at once. When the memory is full, a sampling run writes "
            "its files and ends. It can be resumed with more memory.",
        },
    )
    twin: bool | None = field(
        default=None,
        compare=False,
        metadata={
            "kind": bool,
            "help": "Use the compiled twin of an OpenSpiel game. A twin expands the "
            "whole tree and plays faster, with the same results (default: where it "
            "saves time).",
        },
    )
    store: str = field(
        default="auto",
        metadata={
            "kind": str,
            "help": "Which nodes the solver stores. tree: the nodes that walks visit. "
            "none: no nodes; sampling algorithms walk over compiled rules, and "
            "full-width algorithms traverse all histories. worlds: no nodes; "
            "full-width algorithms pass over the worlds that the game declares. "
            "blocks: float32 tables for subgames of hold'em. auto: "
            "the whole tree if it fits in memory, otherwise none or worlds where the "
            "game allows that.",
            "choices": STORES,
        },
    )
    allow_imperfect_recall: bool = field(
        default=False,
        metadata={
            "kind": bool,
            "help": "Solve a game whose information-state strings forget earlier moves "
            "or observations, such as those of hold'em. No convergence theorem applies "
            "and NashConv cannot be computed, so --evaluate must be sampled or none.",
        },
    )
    abstraction: str | None = field(
        default=None,
        metadata={
            "kind": str,
            "help": "Abstraction MODULE:FUNCTION, a function (state, player) -> string "
            "that replaces the information-state strings. Players may then forget, so "
            "the limits of --allow_imperfect_recall apply.",
        },
    )
    threads: int | None = field(
        default=None,
        compare=False,
        metadata={
            "kind": int,
            "help": "Maximum number of threads for full-width passes and large batches "
            "(default: one per core). Small games use fewer threads. The workers of an "
            "experiment or a comparison share the cores. On a Ray cluster, each worker "
            "of a single run uses this many threads (default 1). Results do not depend "
            "on the number of threads.",
            "least": 1,
        },
    )

    def __post_init__(self) -> None:
        for setting in FIELDS.values():
            value = setting.checked(getattr(self, setting.name))
            object.__setattr__(self, setting.name, value)
        object.__setattr__(self, "game", load_string(self.game))
        method: Any = self.algorithm
        if isinstance(method, str) and method in SCHEDULES:
            method = SCHEDULES[method](with_horizon(vars(self))["horizon"])
        object.__setattr__(self, "algorithm", checked(method))
        if self.max_memory is not None:
            parse_bytes(self.max_memory)
        for message in contradictions(self):
            raise ValueError(message)

    @property
    def forgets(self) -> bool:
        """Whether players may forget their moves or observations."""
        return self.allow_imperfect_recall or self.abstraction is not None

    def _replace(self, **changes: Any) -> "Settings":
        """Returns a copy with other values of some fields, like a NamedTuple."""
        return dataclasses.replace(self, **changes)

    def target(self, pot: float) -> float | None:
        """The NashConv at which the run stops, or None.

        Args:
            pot: the pot at the start of a poker subgame; 0 in other games.

        Raises:
            ValueError: the target is a percentage of the pot, but there is no pot.
        """
        percent = self.until_pot_percent
        if percent is None:
            return self.until_nash_conv
        if not pot > 0:
            raise ValueError(
                f"until_pot_percent={percent} needs a subgame of poker, but "
                f"{self.game} has no pot at the start. Use until_nash_conv or "
                "iterations."
            )
        return max(percent * pot / 50, self.until_nash_conv or 0.0)

    @property
    def progress_column(self) -> str:
        """The column of results.csv that measures progress: "iteration" or
        "nodes_touched"."""
        return "iteration" if self.until_nodes_touched is None else "nodes_touched"

    @property
    def last(self) -> int:
        """The value of the progress column at which the run ends."""
        return self.until_nodes_touched or self.iterations

    @property
    def is_iterative(self) -> bool:
        """Whether the run converges over iterations, so that its rows form a curve."""
        method = self.algorithm
        return isinstance(method, Algorithm) or method.is_iterative

    @property
    def is_resumable(self) -> bool:
        """Whether the run writes checkpoints. Offline methods do not."""
        return isinstance(self.algorithm, Algorithm)


FIELDS = fields_of(Settings)
"""The fields of `Settings`: name -> setting."""

Flags = Mapping[str, Any]
"""Names of settings -> values; a missing name or None means "not given"."""


def with_horizon(flags: Flags) -> Flags:
    """Adds the horizon of hs_dcfr and hs_pcfr_plus, which defaults to the iterations.

    The horizon is stored with the run, so resuming the run with more iterations does
    not change it.
    """
    name = flags.get("algorithm")
    if name not in SCHEDULES or flags.get("horizon") is not None:
        return flags
    nodes = flags.get("until_nodes_touched")
    if nodes is not None:
        raise ValueError(
            f"algorithm={name} with until_nodes_touched={nodes} needs a horizon: the "
            "number of iterations over which the parameters change. Set a horizon, "
            f"such as horizon=1000, or in Python ms.{name}(1000)."
        )
    iterations = flags.get("iterations") or FIELDS["iterations"].default
    return {**flags, "horizon": iterations}
