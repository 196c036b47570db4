"""Settings: one run as a value, the checks that need no work, and settings.json.

`Settings` says which game is solved by which method, when the run ends and what it
records. Its fields, with the parts of an algorithm (algorithm_names.PARTS), are the one
table of settings: flags, files and `named_settings` are made from it.
experiments/runs.py runs a value. settings.json has what a run was told, what that
means, and which versions ran it.

Names become values here and nowhere else. The command line, settings.json and users of
`named_settings` describe a run by names and numbers without structure:
`--sampling=outcome --epsilon=0.4`. SETTINGS lists them.
"""

import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shlex
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pyspiel

from mccfr_spiel.algorithms import EXTERNAL_SAMPLING, SCHEDULES, Algorithm
from mccfr_spiel.arenas.choosing import STORES, refuse_everywhere
from mccfr_spiel.arenas.infosets.loading import pot_of
from mccfr_spiel.arenas.infosets.table import Abstraction
from mccfr_spiel.arenas.needs import needs_of
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.common import limits
from mccfr_spiel.common.folders import load_string
from mccfr_spiel.evaluation.theory import check_covered
from mccfr_spiel.experiments.algorithm_names import (
    METHODS,
    PARTS,
    Count,
    Method,
    Setting,
    checked,
    make_method,
    table_of,
    value_of,
    written,
)
from mccfr_spiel.offline import OfflineMethod, check_players

EVALUATIONS = ("exact", "sampled", "none")
"""What `Settings.evaluate` may be."""

OWN: Abstraction = pyspiel.State.information_state_string
"""The abstraction that is a game's own strings."""

_LEAST_MEMORY = 2**20


@dataclass(frozen=True)
class Settings:
    """One run.

        Settings("leduc_poker", ms.CFR_PLUS, until_nodes_touched=1_000_000)

    Settings that differ only in what a run may take (max_memory, twin, threads) or in
    the policies that it keeps are equal: they have the same rows.

    Attributes:
        game: Any string that pyspiel.load_game takes.
        algorithm: an `Algorithm` or an `OfflineMethod`. The name of one in
            `algorithm_names.METHODS`, such as "cfr_plus", is replaced by the value, and
            one in `algorithms.SCHEDULES` by that for a horizon of `iterations`.
        seed: Seed of all draws.
        iterations: Number of iterations; each updates every player once.
        until_nodes_touched: Stop with the first iteration after which so many nodes
            have been touched, whatever the number of iterations; rows are then spaced
            by nodes touched.
        until_nash_conv: Stop at the first row whose NashConv is not above this.
        until_pot_percent: Stop at the first row whose exploitability is not above so
            many percent of the pot, in a subgame of poker.
        print_freq: The iterations from row to row, or nodes if the run goes by nodes
            touched; by default, rows grow further apart.
        rows_per_decade: How many rows, or points of a curve, from 10 to 100, from 100
            to 1000, ..., without print_freq.
        rows_from: Without print_freq, no row is due before this.
        keep_policies: Keep the average policies of so many rows from 10 to 100, from
            100 to 1000, ..., in policy_after_10.bin and so on: 1 for those of powers of
            ten. They are the steps of the slider of mccfr-spiel explore. Only the last
            one if not given.
        evaluate: exact: NashConv in each row, which takes the whole game tree. sampled:
            at the end the policy is played, for its value and for a lower bound of what
            a best response gains (evaluation.json). none: only solve.
        evaluate_last: Add the NashConv of the current policy, the last iterate, to each
            row and to the picture.
        bounds: Add the theorem's bound on NashConv, which holds with probability 0.95
            where something is sampled, to results.csv and the picture.
        max_nodes: The most nodes of the tree kept in memory.
        max_memory: The most memory that the program may take, in bytes or as in 4GiB;
            by default half of what is free when it begins. A game whose whole tree
            cannot fit is refused at once. A run that samples ends when the memory is
            full, with all files written; it can be resumed with more.
        twin: Whether the game's compiled twin stands in for it: it expands the whole
            tree, and walks and plays without a tree go over it, in less time and with
            the same results; by default where it has one and saves time.
        store: Whether an algorithm that samples keeps the nodes that it meets: tree, or
            none, which walks over compiled rules of the game. auto keeps them where the
            whole tree fits, or there are no such rules. An algorithm that samples
            nothing keeps the tree, or worlds, where the game declares them; with none
            its passes go over all histories by the rules.
        allow_imperfect_recall: Solve a game whose information-state strings forget what
            a player did or saw, as those of hold'em do. No theorem covers that.
            NashConv cannot be computed: evaluate is sampled or none.
        abstraction: What players know in place of their information-state strings:
            MODULE:FUNCTION, a function (state, player) -> string, as Solver takes it.
            Players may then forget, and what --allow_imperfect_recall says holds.
        threads: The most threads that share a pass over the whole tree, as CFR and
            NashConv make them, or the walks of a large batch; one for each core if not
            given; all workers of an experiment or a comparison together never have
            more. A small game has fewer. On a Ray cluster each worker of a single run
            has as many, one if not given. No result depends on them.

    Raises:
        ValueError: a number is out of range, a name is unknown, or two settings
            contradict each other.
    """

    game: str = "leduc_poker"
    algorithm: Method = EXTERNAL_SAMPLING
    seed: int = 0
    iterations: Count = 20_000_000
    until_nodes_touched: Count | None = None
    until_nash_conv: Annotated[float, 0] | None = None
    until_pot_percent: Annotated[float, 0] | None = None
    print_freq: Count | None = None
    rows_per_decade: Count = 5
    rows_from: Count = 1
    keep_policies: Count | None = field(default=None, compare=False)
    evaluate: Annotated[str, EVALUATIONS] = "exact"
    evaluate_last: bool = False
    bounds: bool = False
    max_nodes: Count = DEFAULT_MAX_NODES
    max_memory: int | str | None = field(default=None, compare=False)
    twin: bool | None = field(default=None, compare=False)
    store: Annotated[str, STORES] = "auto"
    allow_imperfect_recall: bool = False
    abstraction: str | None = None
    threads: Count | None = field(default=None, compare=False)

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
            limits.parse_bytes(self.max_memory)
        for words in self._contradictions():
            raise ValueError(words)

    @property
    def forgets(self) -> bool:
        """Whether players may forget what they did or saw."""
        return self.allow_imperfect_recall or self.abstraction is not None

    def _contradictions(self) -> Iterator[str]:
        """Which settings cannot be together, in words."""
        method, is_exact = self.algorithm, self.evaluate == "exact"
        for name in ("until_nash_conv", "until_pot_percent"):
            if (target := getattr(self, name)) is not None and not is_exact:
                yield (
                    f"{name}={target} is never known with evaluate={self.evaluate}; "
                    "drop one."
                )
        samples = getattr(method, "sampling", EXTERNAL_SAMPLING.sampling)
        if self.store == "none" and is_exact and samples.is_sampled:
            yield (
                "store=none keeps no tree, which evaluate=exact takes; use "
                "evaluate=sampled, or drop store=none."
            )
        if self.forgets:
            yield from self._contradictions_of_recall()
        takers = {"bounds take": self.bounds, "evaluate_last takes": self.evaluate_last}
        if isinstance(method, OfflineMethod):
            takers[f"{method.name} takes"] = True
        for what, is_given in takers.items():
            if is_given and not is_exact:
                yield (
                    f"evaluate={self.evaluate} spares the whole tree, which {what}; "
                    "use evaluate=exact."
                )
        if isinstance(method, OfflineMethod):
            yield from self._contradictions_of_offline(method)

    def _contradictions_of_recall(self) -> Iterator[str]:
        """What a game of imperfect recall rules out."""
        what = f"abstraction={self.abstraction}"
        if self.allow_imperfect_recall:
            own = "allow_imperfect_recall=True"
            if self.abstraction is not None:
                yield (
                    f"{own} is about a game's own strings, which {what} replaces; drop "
                    "one of them."
                )
            what = own
        elif ":" not in str(self.abstraction):
            yield f"{what} is no MODULE:FUNCTION, such as my_buckets:by_strength."
        if self.evaluate == "exact":
            yield (
                f"{what} is given, but evaluate=exact needs a best response, which no "
                "simple algorithm finds for players who forget; use evaluate=sampled "
                "or evaluate=none."
            )
        if self.twin or self.store == "none":
            given = "twin=True" if self.twin else "store=none"
            yield (
                f"{given} is given, but compiled rules know nothing of players who "
                f"forget; drop it or {what}."
            )

    def _contradictions_of_offline(self, method: OfflineMethod) -> Iterator[str]:
        """What an offline method does not have."""
        if (nodes := self.until_nodes_touched) is not None:
            yield (
                f"until_nodes_touched={nodes} is given, but {method.name} goes by "
                "iterations; use those."
            )
        if self.evaluate_last:
            yield (
                f"{method.name} has one policy, no current one beside an average; drop "
                "evaluate_last=True."
            )
        if self.keep_policies is not None and not method.is_iterative:
            yield (
                f"{method.name} has one policy and none on the way; drop "
                f"keep_policies={self.keep_policies}."
            )
        if self.bounds and not method.is_iterative:
            yield "A linear program has no curve to bound; drop bounds=True."

    def _replace(self, **changes: Any) -> "Settings":
        """The same settings with other values of some fields, as for a NamedTuple."""
        return dataclasses.replace(self, **changes)

    def target(self, pot: float) -> float | None:
        """The NashConv at which the run stops, if at any, given the pot, or 0.

        Raises:
            ValueError: there is no pot, but it stops at a share of it.
        """
        percent = self.until_pot_percent
        if percent is None:
            return self.until_nash_conv
        if not pot > 0:
            raise ValueError(
                f"until_pot_percent={percent}, but {self.game} has no pot at the "
                "start, as subgames of poker have; use until_nash_conv or iterations."
            )
        return max(percent * pot / 50, self.until_nash_conv or 0.0)

    @property
    def last(self) -> int:
        """Where the run ends, counted as in `measure`."""
        return self.until_nodes_touched or self.iterations

    @property
    def is_iterative(self) -> bool:
        """Whether the run approaches its answer, and so has a curve of rows."""
        method = self.algorithm
        return isinstance(method, Algorithm) or method.is_iterative

    @property
    def is_resumable(self) -> bool:
        """Whether the run makes checkpoints, as all online algorithms do."""
        return isinstance(self.algorithm, Algorithm)


FIELDS = table_of(Settings)
"""The fields of `Settings` as a table."""


def check(settings: Settings, *, splits: bool = False) -> None:
    """Raises ValueError if the game cannot be loaded or the method cannot run on it.

    This does not expand the tree: what only the whole tree shows comes up later.

    Args:
        settings: the run.
        splits: whether a cluster is to split the run's batches.
    """
    tree, method = new_tree(settings), settings.algorithm
    settings.target(pot_of(tree.game))
    if isinstance(method, OfflineMethod):
        if splits:
            raise ValueError(
                f"A cluster splits batches of walks, and {method.name} makes none. Use "
                "an algorithm that samples, with a batch."
            )
        check_players(tree)
        return
    needs = needs_of(method, abstraction=tree.abstraction, cluster=splits)
    refuse_everywhere(tree, needs, settings.store)
    if settings.bounds:
        try:
            check_covered(tree.game, method)
        except ValueError as error:
            raise ValueError(f"bounds=True cannot be had. {error}") from error


def new_tree(settings: Settings, max_memory: limits.MaxMemory = None) -> GameTree:
    """The tree of the settings' game; nothing of it is expanded yet."""
    return GameTree(
        settings.game,
        max_nodes=settings.max_nodes,
        max_memory=max_memory,
        abstraction=abstraction_of(settings),
        twin=settings.twin,
    )


def abstraction_of(settings: Settings) -> Abstraction | None:
    """The user's function, or the game's own strings where they may forget; else
    None."""
    if settings.abstraction is not None:
        return value_of(settings.abstraction)
    return OWN if settings.allow_imperfect_recall else None


def measure(settings: Settings) -> str:
    """The column of results.csv by which the run goes: iterations or nodes touched."""
    return "iteration" if settings.until_nodes_touched is None else "nodes_touched"


def budget_of(settings: Settings) -> limits.Budget:
    """The memory that the run's tree and tables may take.

    `max_memory` is for the whole process, so what the process has taken already is
    subtracted.

    Raises:
        ValueError: the process has already taken more than the settings allow.
    """
    if settings.max_memory is None:
        limit, note = limits.free_memory() // 2, ", of the memory that was free"
    else:
        whole, taken = limits.parse_bytes(settings.max_memory), limits.resident()
        limit = whole - taken
        note = f", of the {limits.in_words(whole)} that the process may take"
        if limit < _LEAST_MEMORY:
            raise ValueError(
                f"max_memory={settings.max_memory} is not enough: the program itself "
                f"takes {limits.in_words(taken)} before it begins."
            )
    if settings.evaluate != "exact":
        limit = limit * 3 // 4
    return limits.Budget(max(limit, 1), note=note)


# --- names <-> Settings: the only place where names become values ---------------------


Flags = Mapping[str, Any]
"""What a run is told, by names in SETTINGS; what is missing or None has its default."""


_ALGORITHM = (
    f"What to run: {', '.join([*METHODS, *SCHEDULES])}. Or the repr of an algorithm, "
    'as "Algorithm(outcome(0.4), ftrl(0.5))". Sampling, minimizer, averaging and '
    "alternating replace parts of it, except in offline methods, which have none."
)

SETTINGS: dict[str, Setting] = {
    "game": FIELDS["game"],
    "players": Setting(
        "players", int, None, "Number of players, where the game has a choice.", 1
    ),
    "algorithm": Setting("algorithm", str, written(EXTERNAL_SAMPLING), _ALGORITHM),
    **PARTS,
    **{name: one for name, one in FIELDS.items() if name not in ("game", "algorithm")},
}
"""The table of settings: name -> what may be said of it, in the order of files."""

DEFAULT: Flags = types.MappingProxyType(
    {name: setting.default for name, setting in SETTINGS.items()}
)
"""What each setting is when it is not given."""

CHANGEABLE = (
    "iterations",
    "until_nodes_touched",
    "until_nash_conv",
    "until_pot_percent",
    "max_memory",
    "twin",
    "threads",
    "keep_policies",
)
"""The settings that may be others when a run is resumed."""


def named_settings(**given: Any) -> Settings:
    """The settings that names describe.

        named_settings(game="kuhn_poker", players=3, algorithm="cfr", sampling="chance")

    The names are those of SETTINGS, which are flags of the command line, too: `players`
    is added to the game, `algorithm` is a name in `algorithm_names.METHODS` or in
    `algorithms.SCHEDULES` or the repr of an algorithm, whose parts the others replace,
    and the rest are the fields of `Settings`.

    Raises:
        ValueError: a name is unknown, a number is out of range, or a parameter is given
            that the method does not have.
    """
    for name, value in given.items():
        if name not in SETTINGS:
            raise ValueError(f"{name}= is none of the settings {', '.join(SETTINGS)}.")
        if value is not None:
            SETTINGS[name].checked(value)
    fields = {name: given[name] for name in FIELDS if given.get(name) is not None}
    fields["game"] = load_string(
        given.get("game") or DEFAULT["game"], given.get("players")
    )
    fields["algorithm"] = make_method(with_horizon(given))
    return Settings(**fields)


def flags_of(settings: Settings) -> dict[str, Any]:
    """The names and values that describe settings: the inverse of `named_settings`."""
    fields = {name: getattr(settings, name) for name in FIELDS}
    flags = fields | {"algorithm": written(settings.algorithm)}
    return {name: flags[name] for name in SETTINGS if flags.get(name) is not None}


def with_horizon(flags: Flags) -> Flags:
    """The flags with the horizon that they imply, which --iterations may not change
    when a run is resumed."""
    name = flags.get("algorithm")
    if name not in SCHEDULES or flags.get("horizon") is not None:
        return flags
    nodes = flags.get("until_nodes_touched")
    if nodes is not None:
        raise ValueError(
            f"algorithm={name} with until_nodes_touched={nodes} needs a horizon: the "
            "number of iterations in the course of which its parameters change, such "
            f"as horizon=1000, or in Python ms.{name}(1000)."
        )
    return {**flags, "horizon": flags.get("iterations") or DEFAULT["iterations"]}


# --- settings.json: what a run was told, what that means, and which versions ran it ---


_PACKAGES = ("mccfr_spiel", "open_spiel", "numba", "numpy")


def description(settings: Settings, flags: Flags | None = None) -> dict[str, Any]:
    """What settings.json holds.

    Args:
        settings: the run.
        flags: the names by which a user has described the run, if somebody has; they
            are kept as they were given.
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "settings": flags_of(settings) if flags is None else with_horizon(flags),
        "algorithm": repr(settings.algorithm),
        "versions": versions,
    }


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """The settings that a settings.json describes; raises as `read_flags` does."""
    return settings_from(read_flags(pathlib.Path(path)), str(path))


class CodeInFileError(ValueError):
    """A file names code that the user has not named."""


def read_flags(path: pathlib.Path, given: Flags | None = None) -> Flags:
    """The flags in a settings.json.

    Args:
        path: the file.
        given: the flags that the user has set; only these may name code.

    Raises:
        CodeInFileError: the file names code that `given` does not name.
        ValueError: the file is damaged, or has a setting that does not exist.
        OSError: it cannot be read.
    """
    try:
        values = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged, it is no JSON: {error}.") from error
    if not isinstance(values, dict) or not isinstance(values.get("settings"), dict):
        raise ValueError(f"{path} is damaged: it lacks the settings of a run.")
    flags = values["settings"]
    refuse_code(path.parent, flags, given or {})
    settings_from(flags, str(path))
    return flags


_MAY_NAME_CODE = "sampling", "minimizer", "averaging", "algorithm", "abstraction"


def refuse_code(folder: pathlib.Path, flags: Flags, given: Flags) -> None:
    """Raises CodeInFileError if flags of a folder name code that is not given.

    Somebody else may have written the folder, so importing what it names would run
    their code.
    """
    for name in _MAY_NAME_CODE:
        value = flags.get(name)
        if not isinstance(value, str) or ":" not in value:
            continue
        if given.get(name) != value:
            raise CodeInFileError(
                f"The run in {folder} uses {name}={value!r}, which names code. Code is "
                "never loaded because a results folder names it. If you trust it, add "
                f"--{name}={shlex.quote(value)} to the command."
            )
        for module in re.findall(r"[^'\"(\s]+\.py(?=:)", value):
            if pathlib.Path(module).resolve().is_relative_to(folder.resolve()):
                raise CodeInFileError(
                    f"{name}={value!r} names code inside the results folder {folder}, "
                    "which is never loaded. Move the file to another folder."
                )


def settings_from(flags: Any, where: str) -> Settings:
    """The settings that flags from a file describe.

    Raises:
        ValueError: they are no flags, or a value is wrong; the message begins with
            `where` it was found.
    """
    if not isinstance(flags, dict):
        raise ValueError(f"{where} is damaged: {flags!r} are no settings.")
    try:
        return named_settings(**flags)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
