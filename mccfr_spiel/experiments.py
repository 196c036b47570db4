"""Settings -> rows: a run as data, and the files it leaves.

`Settings` says what is run, and survives JSON. `rows` runs it and yields a dict for
each line of the convergence table; what becomes of a row is the caller's business. A
folder of results holds `settings.json`, `results.csv`, `policy.json`,
`convergence.png` (drawn by plotting.py from the CSV alone) and, so that the run can be
resumed, `solver.checkpoint`. A policy of more than JSON_INFOSETS information sets is in
`policy.bin` instead of `policy.json`.
"""

import csv
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shutil
import time
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_spiel import algorithms, offline
from mccfr_spiel.algorithms import Algorithm, Averaging, Minimizer, Sampling
from mccfr_spiel.checkpoint import DAMAGED, PREVIOUS
from mccfr_spiel.evaluation import is_two_player_constant_sum, nash_conv
from mccfr_spiel.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.linear_program import LinearProgramError, write_program
from mccfr_spiel.offline import LinearProgramRun, OfflineSolver
from mccfr_spiel.policy import SequencePolicy
from mccfr_spiel.sampled_evaluation import learned_response, sampled_returns
from mccfr_spiel.sequence_form import joint_vector, plan_to_policy
from mccfr_spiel.solver import Solver
from mccfr_spiel.theory import check_covered, nash_conv_bound

SAMPLINGS = {
    "full": algorithms.FULL,
    "pruned": algorithms.full(prune=True),
    "chance": algorithms.CHANCE,
    "opponent": algorithms.OPPONENT,
    "external": algorithms.EXTERNAL,
    "outcome": algorithms.OUTCOME,
    "balanced_outcome": algorithms.BALANCED_OUTCOME,
}
"""The estimators, as settings call them."""

MINIMIZERS = {
    "regret_matching": algorithms.regret_matching(),
    "regret_matching_plus": algorithms.regret_matching_plus(),
    "ftrl": algorithms.ftrl(1.0),
    "omd": algorithms.omd(1.0),
}
"""The local rules, as settings call them."""

AVERAGINGS = {
    "uniform": algorithms.UNIFORM,
    "linear": algorithms.LINEAR,
    "quadratic": algorithms.QUADRATIC,
}
"""The averages, as settings call them."""

COLUMNS: tuple[str, ...] = (
    "iteration",
    "nodes_touched",
    "seconds",
    "nash_conv",
    "exploitability",
    "bound",
)
"""The keys of a row and the header of results.csv."""

EVALUATIONS = ("exact", "sampled", "none")
"""What `Settings.evaluate` may be."""

SETTINGS, RESULTS = "settings.json", "results.csv"
POLICY, PICTURE = "policy.json", "convergence.png"
BINARY_POLICY = "policy.bin"
CHECKPOINT, EVALUATION = "solver.checkpoint", "evaluation.json"
SOLUTION, PROGRAM = "solution.json", "program.mps"
_FILES = (
    SETTINGS,
    RESULTS,
    POLICY,
    BINARY_POLICY,
    BINARY_POLICY + ".new",
    PICTURE,
    EVALUATION,
    SOLUTION,
    PROGRAM,
    CHECKPOINT,
    *(CHECKPOINT + ending for ending in (PREVIOUS, DAMAGED, ".new", ".older")),
)

JSON_INFOSETS = 100_000
"""The most information sets of a policy that is written as JSON."""

CHANGEABLE = ("iterations", "until_nodes_touched", "until_nash_conv")
"""The settings that may be others when a run is resumed."""

_SLICE_SECONDS = 0.25

T = TypeVar("T")


class Settings(NamedTuple):
    """One run. None, where it is allowed, means: as in the named algorithm.

    Attributes:
        game: a load_game string.
        players: the game's parameter of that name; None leaves it alone.
        algorithm: a name in `algorithms.ALGORITHMS` or `offline.ALGORITHMS`.
        sampling: a name in SAMPLINGS.
        epsilon: the exploration of outcome sampling, in (0, 1].
        minimizer: a name in MINIMIZERS.
        step_size: eta of ftrl, omd and mirror_prox.
        weights: of the dilated entropy in ftrl and omd, "constant" or "kroer".
        random_initial_regrets: the regrets start at random between 0 and this.
        averaging: a name in AVERAGINGS.
        alternating: whether players are updated one after the other.
        iterations: how many; in each, every player is updated once.
        until_nodes_touched: if given, it takes the place of `iterations`: the run ends
            with the first iteration after which so many nodes have been touched, and
            rows are spaced by nodes touched.
        seed: of all draws.
        print_freq: a row every so many iterations (or nodes touched, if the run goes by
            those); None for log-spaced rows.
        rows_per_decade: of log-spaced rows.
        rows_from: the first log-spaced row is not due before that.
        until_nash_conv: the run ends at the first row whose NashConv is not above it.
        evaluate: "exact" computes NashConv in each row, for which the whole tree must
            fit; "sampled" plays the policy at the end, see sampled_evaluation.py.
        bounds: whether rows have the theorem's bound on NashConv, see `make_bound`.
        method: of HiGHS in lp and sparsified_lp, a name in `linear_program.METHODS`.
        factorization: of sparsified_lp, in `linear_program.SPARSIFICATIONS`.
        time_limit: seconds for HiGHS.
        max_nodes: of the tree, see `GameTree`.
    """

    game: str = "leduc_poker"
    players: int | None = None
    algorithm: str = "external_sampling"
    sampling: str | None = None
    epsilon: float | None = None
    minimizer: str | None = None
    step_size: float | None = None
    weights: str | None = None
    random_initial_regrets: float | None = None
    averaging: str | None = None
    alternating: bool | None = None
    iterations: int = 20_000_000
    until_nodes_touched: int | None = None
    seed: int = 0
    print_freq: int | None = None
    rows_per_decade: int = 5
    rows_from: int = 1
    until_nash_conv: float | None = None
    evaluate: str = "exact"
    bounds: bool = False
    method: str | None = None
    factorization: str | None = None
    time_limit: float | None = None
    max_nodes: int = DEFAULT_MAX_NODES


# --- settings -> what they name ------------------------------------------------


def load_string(settings: Settings) -> str:
    """The game as a load_game string, `players` included."""
    game = settings.game.strip()
    if settings.players is None:
        return game
    if re.search(r"[(,]\s*players\s*=", game):
        raise ValueError(
            f"players={settings.players} is given beside {game}; drop one."
        )
    if game.endswith(")"):
        separator = "" if game.endswith("()") else ","
        return f"{game[:-1]}{separator}players={settings.players})"
    return f"{game}(players={settings.players})"


def make_algorithm(settings: Settings) -> Algorithm:
    """The named algorithm with the parts that the settings replace.

    Raises:
        ValueError: a name is unknown, a number out of range, or a number is given that
            the chosen part does not have.
    """
    algorithm = _named("algorithm", settings.algorithm, algorithms.ALGORITHMS)
    alternating = settings.alternating
    for part in ("method", "factorization", "time_limit"):
        value = getattr(settings, part)
        if value is not None:
            raise ValueError(
                f"{part}={value} is given, but {settings.algorithm} solves no linear "
                "program; drop it."
            )
    return Algorithm(
        _make_sampling(settings, algorithm.sampling),
        _make_minimizer(settings, algorithm.minimizer),
        _make_averaging(settings, algorithm.averaging),
        algorithm.alternating if alternating is None else alternating,
    )


def _named(kind: str, name: str, values: Mapping[str, T]) -> T:
    if name not in values:
        raise ValueError(f"{kind}={name!r} is none of {', '.join(values)}.")
    return values[name]


def _make_sampling(settings: Settings, default: Sampling) -> Sampling:
    sampling = default
    if settings.sampling is not None:
        sampling = _named("sampling", settings.sampling, SAMPLINGS)
    if settings.epsilon is None:
        return sampling
    if sampling.player != "epsilon":
        raise ValueError(
            f"epsilon={settings.epsilon} is given, but only outcome sampling explores "
            "with epsilon; choose it or drop epsilon."
        )
    return algorithms.outcome(settings.epsilon)


def _make_minimizer(settings: Settings, default: Minimizer) -> Minimizer:
    minimizer = default
    if settings.minimizer is not None:
        minimizer = _named("minimizer", settings.minimizer, MINIMIZERS)
    step, regret = settings.step_size, settings.random_initial_regrets
    has_step = minimizer.rule in ("ftrl", "omd")
    if step is not None and not has_step:
        raise ValueError(
            f"step_size={step} is given, but {minimizer.rule} has none; choose ftrl or "
            "omd, or drop it."
        )
    if settings.weights is not None and not has_step:
        raise ValueError(
            f"weights={settings.weights} is given, but {minimizer.rule} has no "
            "regularizer; choose ftrl or omd, or drop it."
        )
    if regret is not None and has_step:
        raise ValueError(
            f"random_initial_regrets={regret} is given, but {minimizer.rule} keeps no "
            "regrets; choose regret_matching or regret_matching_plus, or drop it."
        )
    if has_step:
        make = algorithms.ftrl if minimizer.rule == "ftrl" else algorithms.omd
        return make(
            minimizer.step_size if step is None else step,
            weights=settings.weights or minimizer.weights,
        )
    if regret is not None:
        if minimizer.rule == "regret_matching":
            return algorithms.regret_matching(initial_regret=regret)
        return algorithms.regret_matching_plus(initial_regret=regret)
    return minimizer


def _make_averaging(settings: Settings, default: Averaging) -> Averaging:
    if settings.averaging is None:
        return default
    return _named("averaging", settings.averaging, AVERAGINGS)


# --- running -------------------------------------------------------------------


def check(settings: Settings) -> None:
    """Raises ValueError for a wrong setting, without the work of `make_solver`."""
    _check_numbers(settings)
    tree = GameTree(load_string(settings), max_nodes=settings.max_nodes)
    if not is_offline(settings):
        algorithm = make_algorithm(settings)
        if settings.bounds:
            check_covered(tree.game, algorithm)
        return
    offline.check(settings.algorithm, tree, _parts(settings))
    if settings.bounds and settings.algorithm in offline.LINEAR_PROGRAMS:
        raise ValueError("A linear program has no curve to bound; drop bounds.")


def is_offline(settings: Settings) -> bool:
    """Whether what is run is no Algorithm but one of offline.py."""
    return settings.algorithm in offline.ALGORITHMS


def _parts(settings: Settings) -> dict[str, Any]:
    """The settings that only some algorithms have."""
    names = ("sampling", "epsilon", "minimizer", "step_size", "random_initial_regrets")
    names += ("weights", "averaging", "alternating", "method", "factorization")
    return {name: getattr(settings, name) for name in (*names, "time_limit")}


def make_solver(
    settings: Settings, tree: GameTree | None = None
) -> Solver | OfflineSolver:
    """The solver that the settings describe; its tree is whole for exact evaluation.

    Args:
        settings: the run.
        tree: the game's whole tree, if there is one.

    Raises:
        ValueError: a setting is wrong, or the game cannot be solved; see
            `make_algorithm`, `GameTree` and `Solver`.
    """
    _check_numbers(settings)
    tree = tree or GameTree(load_string(settings), max_nodes=settings.max_nodes)
    if is_offline(settings):
        return offline.make(settings.algorithm, tree, _parts(settings))
    if settings.evaluate == "exact":
        tree.expand_all()
    return Solver(tree, make_algorithm(settings), seed=settings.seed)


def _check_numbers(settings: Settings) -> None:
    if settings.iterations < 1:
        raise ValueError(f"iterations={settings.iterations} is not at least 1.")
    nodes = settings.until_nodes_touched
    if nodes is not None and nodes < 1:
        raise ValueError(f"until_nodes_touched={nodes} is not at least 1.")
    if nodes is not None and is_offline(settings):
        raise ValueError(
            f"until_nodes_touched={nodes} is given, but {settings.algorithm} goes by "
            "iterations; use those."
        )
    for name in ("print_freq", "rows_per_decade", "rows_from"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise ValueError(f"{name}={value} is not at least 1.")
    target = settings.until_nash_conv
    if target is not None and not target >= 0:
        raise ValueError(f"until_nash_conv={target} is not at least 0.")
    if settings.evaluate not in EVALUATIONS:
        raise ValueError(
            f"evaluate={settings.evaluate!r} is none of {', '.join(EVALUATIONS)}."
        )
    if target is not None and settings.evaluate != "exact":
        raise ValueError(
            f"until_nash_conv={target} is never known with evaluate="
            f"{settings.evaluate}; drop one."
        )
    if settings.evaluate != "exact" and (settings.bounds or is_offline(settings)):
        what = "bounds take" if settings.bounds else f"{settings.algorithm} takes"
        raise ValueError(
            f"evaluate={settings.evaluate} spares the whole tree, which {what}; use "
            "evaluate=exact."
        )


def warm_up(settings: Settings) -> None:
    """Compiles what the algorithm and the evaluation run, on a small game.

    So that the seconds of the first row are not those of the compiler.
    """
    tree = GameTree("kuhn_poker")
    if is_offline(settings):
        parts = _parts(settings) | {"time_limit": None}  # that is for the game itself
        solver = offline.make(settings.algorithm, tree, parts)
    else:
        solver = Solver(tree, make_algorithm(settings))
    solver.iterate(1)
    tree.expand_all()
    nash_conv(tree, solver.average_vector())


def make_bound(solver: Solver | OfflineSolver) -> Callable[[], float]:
    """The least NashConv that theory promises of the solver's average policy now.

    That of `theory.nash_conv_bound` (with probability 0.95 where it samples), or of the
    first-order method itself.

    Raises:
        ValueError: there is no theorem for it.
    """
    if isinstance(solver, Solver):
        bound = nash_conv_bound(solver.tree, solver.algorithm)
        return lambda: float(bound(solver.num_iterations))
    if isinstance(solver, LinearProgramRun):
        raise ValueError("A linear program has no curve to bound; drop bounds.")
    return lambda: solver.gap_bound


def row_dues(settings: Settings) -> Iterator[int]:
    """After how many iterations a row is due, or nodes touched if the settings go by
    those: increasing, the last one included."""
    last = settings.until_nodes_touched or settings.iterations
    if settings.algorithm in offline.LINEAR_PROGRAMS:
        last = 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
    else:
        previous = power = 0
        while (due := round(10 ** (power / settings.rows_per_decade))) < last:
            if due > previous and due >= settings.rows_from:
                yield due
            previous = due
            power += 1
    yield last


def measure(settings: Settings) -> str:
    """The column of what `row_dues` counts."""
    return "iteration" if settings.until_nodes_touched is None else "nodes_touched"


def rows(
    solver: Solver | OfflineSolver,
    settings: Settings,
    on_progress: Callable[[int], object] = lambda done: None,
    *,
    kept: Sequence[dict[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Runs the solver and yields a row, with the keys COLUMNS, whenever one is due.

    NashConv is that of the average policy, None if the settings do not evaluate it;
    exploitability is NashConv / 2 in two-player constant-sum games, None in others; the
    bound is None unless the settings ask for it. Seconds are those spent in
    `Solver.iterate`.

    Args:
        solver: from `make_solver(settings)` or `load_solver`.
        settings: the run.
        on_progress: called some times a second with the number of iterations done, or
            of nodes touched if the settings go by those, when each row due so far has
            been yielded; the run ends if it returns something true.
        kept: the rows there are already, see `read_rows`.
    """
    exploitable = is_two_player_constant_sum(solver.tree.game)
    bound = make_bound(solver) if settings.bounds else lambda: None
    column = measure(settings)
    covered = kept[-1][column] if kept else 0
    target = settings.until_nash_conv
    if target is not None and kept and kept[-1]["nash_conv"] <= target:
        return
    advance = _make_advance(solver, settings)
    for due in row_dues(settings):
        if due <= covered:  # one iteration may pass several
            continue
        while (covered := advance(due)) < due:
            if on_progress(covered):
                return
        gap = None
        if settings.evaluate == "exact":
            gap = nash_conv(solver.tree, solver.average_vector())
        yield {
            "iteration": solver.num_iterations,
            "nodes_touched": solver.nodes_touched,
            "seconds": round(solver.seconds, 6),
            "nash_conv": gap,
            "exploitability": gap / 2 if gap is not None and exploitable else None,
            "bound": bound(),
        }
        stop = on_progress(covered)  # only now: what it saves must not lack the row
        if stop or (gap is not None and target is not None and gap <= target):
            return


def _make_advance(
    solver: Solver | OfflineSolver, settings: Settings
) -> Callable[[int], int]:
    """A function that runs the solver some time towards a number of what `row_dues`
    counts, and returns what was reached."""
    slice_size = 1
    if settings.until_nodes_touched is not None and not isinstance(solver, Solver):
        raise ValueError(f"{settings.algorithm} goes by iterations.")

    def advance(due: int) -> int:
        nonlocal slice_size
        began = time.perf_counter()
        if settings.until_nodes_touched is None:
            done = solver.num_iterations
            solver.iterate(min(slice_size, due - done))
            done = solver.num_iterations
        else:
            assert isinstance(solver, Solver)
            done = min(due, solver.nodes_touched + slice_size)
            solver.iterate_until(done)
            done = solver.nodes_touched
        took = time.perf_counter() - began
        if took < _SLICE_SECONDS / 2:
            slice_size *= 2
        elif took > 2 * _SLICE_SECONDS:
            slice_size = max(slice_size // 2, 1)
        return done

    return advance


def run(settings: Settings) -> tuple[Solver | OfflineSolver, list[dict[str, Any]]]:
    """Runs the settings to their end: the solver, and the rows."""
    solver = make_solver(settings)
    return solver, list(rows(solver, settings))


# --- files ---------------------------------------------------------------------


def default_folder(
    settings: Settings, parent: str = "results", *, fresh: bool = True
) -> pathlib.Path:
    """`parent/game_algorithm_seed0`; if `fresh`, numbered where that one is taken."""
    name = f"{load_string(settings)}_{settings.algorithm}_seed{settings.seed}"
    name = re.sub(r"[^\w.=-]+", "_", name)[:120]
    folder = pathlib.Path(parent, name)
    number = 2
    while fresh and folder.exists():
        folder = pathlib.Path(parent, f"{name}_{number}")
        number += 1
    return folder


def prepare_folder(folder: pathlib.Path, *, overwrite: bool = False) -> None:
    """Creates the folder, or clears it of an older run's files.

    Raises:
        ValueError: it is not empty and `overwrite` is False, it is no folder, or
            nothing can be written in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not overwrite:
            raise ValueError(
                f"{folder} is not empty. Choose another output folder, or allow it to "
                "be overwritten."
            )
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written: {error.strerror}. Choose another output "
            "folder."
        ) from error


class RowWriter:
    """Writes rows into a CSV file; each is on disk before the next is computed."""

    def __init__(self, path: pathlib.Path, kept: Iterable[dict[str, Any]] = ()) -> None:
        """Creates the file with its header and some rows, or replaces it."""
        part = path.with_name(path.name + ".part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(kept)
        os.replace(part, path)
        self._file = path.open("a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, COLUMNS)

    def sync(self) -> None:
        """Makes the rows last through a power cut."""
        os.fsync(self._file.fileno())

    def write(self, row: dict[str, Any]) -> None:
        """Appends a row; None becomes an empty field."""
        self._writer.writerow(row)
        self._file.flush()

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_rows(
    path: pathlib.Path, settings: Settings, solver: Solver
) -> list[dict[str, Any]]:
    """The rows in a CSV file that are due by the settings where the solver is.

    Raises:
        ValueError: one is missing.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()  # the last one may be cut short
    column, done = measure(settings), solver.num_iterations
    known = [
        row for row in map(_row, csv.DictReader(lines)) if row["iteration"] <= done
    ]
    reached = done if column == "iteration" else solver.nodes_touched
    kept: list[dict[str, Any]] = []
    covered = 0
    for due in row_dues(settings):
        if due <= covered:
            continue
        fits = [row for row in known if row[column] >= due]
        if column == "iteration":
            fits = [row for row in known if row[column] == due]
        if fits:
            kept.append(fits[0])
            covered = fits[0][column]
        elif due < reached:
            raise ValueError(
                f"{path} has no row of {column.replace('_', ' ')} {due}, but the "
                f"checkpoint has reached {reached}. Begin again with an empty folder."
            )
        else:
            break
    return kept


def _row(line: Mapping[str, str]) -> dict[str, Any]:
    counts = {name: int(line[name]) for name in COLUMNS[:2]}
    measures = {name: float(line[name]) if line[name] else None for name in COLUMNS[2:]}
    return counts | measures


# --- resuming ------------------------------------------------------------------


def resumed_settings(folder: pathlib.Path, given: Mapping[str, Any]) -> Settings:
    """The settings of the run in a folder, with those of CHANGEABLE that are given.

    Raises:
        ValueError: another setting is given that is not as it was.
    """
    settings = read_settings(folder / SETTINGS)
    for name, value in given.items():
        if name not in CHANGEABLE and value != getattr(settings, name):
            raise ValueError(
                f"The run in {folder} has {name}={getattr(settings, name)}, not "
                f"{value}; only {' and '.join(CHANGEABLE)} may change when it is "
                "resumed."
            )
    return settings._replace(**given)


def load_solver(
    settings: Settings, checkpoint: pathlib.Path, tree: GameTree | None = None
) -> Solver:
    """The solver of the newest good checkpoint, ready to go on.

    Args:
        settings: the run.
        checkpoint: the file's path, see `Solver.load_newest`.
        tree: the game's whole tree, if there is one.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or of another run; see `Solver.load_newest`.
    """
    solver = Solver.load_newest(checkpoint, tree or load_string(settings))
    if (solver.algorithm, solver.seed) != (make_algorithm(settings), settings.seed):
        raise ValueError(f"{checkpoint} is not of the run that the settings describe.")
    by_iterations = settings.until_nodes_touched is None
    if by_iterations and solver.num_iterations > settings.iterations:
        raise ValueError(
            f"The run of {checkpoint} has done {solver.num_iterations} iterations "
            f"already, more than {settings.iterations}."
        )
    if settings.evaluate == "exact":
        solver.tree.expand_all()
    return solver


def first_checkpoint(solver: Solver, folder: pathlib.Path) -> None:
    """Saves the solver, so that what prevents it is known before the work.

    Raises:
        OSError: it cannot be written.
        ValueError: there is no room for three of them, which saving takes for a moment.
    """
    path = folder / CHECKPOINT
    solver.save(path)
    size, free = path.stat().st_size, shutil.disk_usage(folder).free
    if free < 2 * size:
        raise ValueError(
            f"{folder} has {free / 2**20:,.0f} MiB left, but checkpoints take "
            f"{3 * size / 2**20:,.0f} MiB. Choose another output folder."
        )


# --- settings and policies -----------------------------------------------------


def write_settings(path: pathlib.Path, settings: Settings) -> None:
    """Writes the settings, and the versions they were run with, as JSON."""
    packages = ("mccfr_spiel", "open_spiel", "numba", "numpy")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    write_json(path, {"settings": settings._asdict(), "versions": versions})


def read_settings(path: pathlib.Path) -> Settings:
    """What `write_settings` wrote.

    Raises:
        ValueError: the file is damaged, or has a setting that there is not.
        OSError: it cannot be read.
    """
    try:
        values = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged, it is no JSON: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("settings"), dict):
        raise ValueError(f"{path} is damaged: it lacks the settings of a run.")
    kinds = typing.get_type_hints(Settings)
    for name, value in values["settings"].items():
        if name not in kinds:
            raise ValueError(
                f"{path} has the setting {name!r}, which is none of {', '.join(kinds)}."
            )
        if not _is_of_kind(value, kinds[name]):
            raise ValueError(
                f"{path} has {name}={value!r}, which is not {kinds[name]}."
            )
    return Settings(**values["settings"])


def _is_of_kind(value: Any, kind: Any) -> bool:
    """Whether JSON's value fits a field's type: floats may be whole, bools are none."""
    if isinstance(value, bool):
        return kind in (bool, bool | None)
    return isinstance(value, kind) or (
        isinstance(value, int) and kind in (float, float | None)
    )


def write_evaluation(
    path: pathlib.Path, policy: SequencePolicy, *, plays: int, seconds: float
) -> dict[str, Any]:
    """Plays the policy and writes what was estimated as JSON; returns it.

    The numbers are those of sampled_evaluation.py, for each player: the value of the
    policy against itself, its value against uniform players, and the value of a learned
    response to the others' policy, whose gain is a lower bound of a best response's.

    Args:
        path: the file.
        policy: what is evaluated.
        plays: for each estimate.
        seconds: of learning, for each response.
    """
    game = policy.game
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    uniform = openspiel_policy.UniformRandomPolicy(game)
    players = []
    for player in range(game.num_players()):
        seats: list[Any] = [uniform] * game.num_players()
        seats[player] = policy
        response = learned_response(
            game, policy, player, plays=plays, seconds=seconds, seed=player
        )
        estimates = {
            "value_against_itself": response.own,
            "value_against_uniform": sampled_returns(game, seats, plays=plays)[player],
            "value_of_learned_response": response.value,
            "gain_of_learned_response": response.gain,
        }
        players.append(
            {
                name: {"mean": estimate.mean, "half_width": estimate.half_width}
                for name, estimate in estimates.items()
            }
        )
    result = {
        "what": "Sampled estimates, mean +- half_width at 95% confidence. The gain of "
        "a learned response is a lower bound of a best response's gain; this is not "
        "NashConv.",
        "plays": plays,
        "players": players,
    }
    write_json(path, result)
    return result


def write_solution(path: pathlib.Path, run: LinearProgramRun) -> dict[str, Any]:
    """Writes the value, sizes and times of a linear program as JSON; returns them."""
    summary = run.summary()
    write_json(path, summary)
    return summary


def write_unfinished(folder: pathlib.Path, error: LinearProgramError) -> pathlib.Path:
    """Writes the program that HiGHS did not finish, for others; returns its path.

    If the error has plans, they become the policy in the folder.
    """
    tree = error.form.tree
    write_program(error.program, folder / PROGRAM, tree.game.get_type().short_name)
    if error.plans is not None:
        first, second = map(plan_to_policy, error.form.treeplexes, error.plans)
        vector = joint_vector(error.form, (first, second))
        write_policy(folder, SequencePolicy(tree, vector))
    return folder / PROGRAM


def write_policy(folder: pathlib.Path, policy: SequencePolicy) -> pathlib.Path:
    """Writes the policy into a file of the folder; returns its path.

    That is POLICY, JSON of information-state string -> action -> probability, or for
    more than JSON_INFOSETS information sets BINARY_POLICY, for `SequencePolicy.load`.
    """
    small = policy.num_infosets <= JSON_INFOSETS
    name, other = (POLICY, BINARY_POLICY) if small else (BINARY_POLICY, POLICY)
    if small:
        write_json(folder / name, policy.to_dict())
    else:
        policy.save(folder / name)
    (folder / other).unlink(missing_ok=True)  # of the run before it was resumed
    return folder / name


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes JSON; the file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(part, path)
