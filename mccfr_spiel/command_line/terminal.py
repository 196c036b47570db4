"""What the program takes from the terminal and gives to it: its flags, what a command
prints, and how it ends: by a signal, by an error in words, or by its exit code.

The flags are absl's. Those that say what is run are made from the table of settings,
see `experiments.settings.SETTINGS`; the others are in this file. The module that calls
`define_flags` owns the flags, so its --help lists them.
"""

import contextlib
import decimal
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

from absl import flags
from tqdm import tqdm

from mccfr_spiel.arenas.infosets.loading import IMPORT_WAY_OUT, STRINGS_WAY_OUT
from mccfr_spiel.common.display import hides_bar
from mccfr_spiel.common.folders import FORMATS
from mccfr_spiel.common.refusals import RECALL_WAY_OUT
from mccfr_spiel.experiments import panels
from mccfr_spiel.experiments.algorithm_names import Count, Setting, table_of
from mccfr_spiel.experiments.runs import IN_WORDS, words_of_error
from mccfr_spiel.experiments.settings import SETTINGS
from mccfr_spiel.experiments.sweeps import ComparisonError
from mccfr_spiel.solving.files import GAME_WAY_OUT

flags.disclaim_key_flags()

EXPERIMENT_NAMES = (panels.TABLE_1, *panels.EXPERIMENTS)

_MOST_DIGITS = 1000
"""Of a whole number in a flag; `1e999999999` would fill the memory."""


def whole_number(text: str) -> int:
    """An integer, also in the form `1e6`; raises ValueError."""
    with contextlib.suppress(ValueError):
        return flags.IntegerParser().convert(text)
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        number = decimal.Decimal("nan")
    is_small = number.is_finite() and number.adjusted() < _MOST_DIGITS
    if not is_small or number != number.to_integral_value():
        raise ValueError(f"{text} is not a whole number, such as 2000 or 2e3")
    return int(number)


class SettingParser(flags.ArgumentParser):
    """Reads the text of a flag, and checks the value as those of files are checked."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.choices = setting.choices if setting.kind is str else ()
        likes = {
            float: flags.FloatParser(lower_bound=setting.least),
            list: flags.ListParser(),
            str: flags.ArgumentParser(),
        }
        like = likes.get(setting.kind, flags.IntegerParser(lower_bound=setting.least))
        self.syntactic_help = like.syntactic_help

    def parse(self, argument: Any) -> Any:
        """The value; raises ValueError. `~` at the beginning of a text, as in
        --output_dir=~/x, is the user's home: shells leave it so behind an equals sign.
        """
        name, kind, *_, choices, _ = self.setting
        if kind is list:
            words = flags.ListParser().parse(argument)
            if choices and not (words and {*words} <= {*choices}):
                raise ValueError(f"--{name} must be of {', '.join(choices)}")
            return words
        if isinstance(argument, str):
            if kind is float:
                argument = float(argument)
            elif kind is str:
                argument = argument if choices else os.path.expanduser(argument)
            else:
                try:
                    argument = whole_number(argument)
                except ValueError:  # "auto" and "4GiB" are words
                    if kind is int:
                        raise
        return self.setting.checked(argument)


def define(table: Iterable[Setting], values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines a flag for each line of a table."""
    for setting in table:
        name, kind, default, words, *_ = setting
        if kind is bool:
            flags.DEFINE_boolean(name, default, words, flag_values=values)
            continue
        as_list = kind is list
        writer = flags.CsvListSerializer(",") if as_list else flags.ArgumentSerializer()
        flags.DEFINE(SettingParser(setting), name, default, words, values, writer)


def define_flags() -> None:
    """Defines the flags; called once, by the program that parses them."""
    define(SETTINGS.values())
    define(table_of(_Program).values())
    for name in ("checkpoint_every", "evaluation_seconds"):
        flags.register_validator(
            name, math.isfinite, f"--{name} must be a number of seconds, not nan or inf"
        )


CLUSTER = ("executor", "workers", "ray_address")
"""The flags that say where an experiment's settings run, or a single run's batches."""

OF_EXPERIMENTS = ("seeds", "only", "tree_cache")
"""The flags that only --experiment takes."""


class _Program:
    """The flags that say how a run or an experiment is made, not what is run.

    Attributes:
        evaluation_plays: Plays for each estimate of --evaluate=sampled.
        evaluation_seconds: Seconds of learning a response for each player, with
            --evaluate=sampled.
        output_dir: Folder for the results; by default a new one below results/, named
            after the game, the algorithm and the seed, or results/EXPERIMENT.
        overwrite: Replace the results in --output_dir.
        checkpoint_every: The most seconds between two checkpoints. A run also begins
            and ends with one, and makes one with a row if saving takes less than a
            twentieth of the time.
        resume: Go on with the run in --output_dir, with its settings; begin it if there
            is none. Only its limits may change: --iterations, --until_nodes_touched,
            --until_nash_conv, --max_memory, --twin, --threads and --keep_policies.
        figure_format: png, svg, pdf, or several of these; png if not given, and svg,
            too, for an experiment.
        import_: Python modules to import first, such as those that register a game of
            yours: their names, or the paths of their files.
        experiment: A table or figure of the papers, in place of a single run.
        seeds: How many seeds an experiment runs; as many as in the paper if not given.
        only: Run only the settings of an experiment whose names contain this.
        executor: What runs the settings of an experiment or a comparison, or makes the
            walks of a single run's batches: processes of this machine, or a Ray
            cluster.
        workers: Processes of an experiment, or of a run with --executor=ray; if not
            given, one for each core, or as many as the cluster has room for.
        ray_address: Address of a Ray cluster; one is started here if not given.
        quiet: Show nothing but errors.
        tree_cache: Folder where an experiment keeps its games' trees for its processes
            and for later runs; a temporary one if not given.
    """

    evaluation_plays: Annotated[int, 2] = 10_000
    evaluation_seconds: Annotated[float, 0] = 20.0
    output_dir: str | None = None
    overwrite: bool = False
    checkpoint_every: Annotated[float, 0] = 60.0
    resume: bool = False
    figure_format: Annotated[list, FORMATS] | None = None
    import_: list = []  # noqa: RUF012
    experiment: Annotated[str, EXPERIMENT_NAMES] | None = None
    seeds: Count | None = None
    only: str = ""
    executor: Annotated[str, ("local", "ray")] = "local"
    workers: Count | None = None
    ray_address: str | None = None
    tree_cache: str | None = None
    quiet: bool = False


# --- what a command prints, and how it ends -------------------------------------------


_WAYS_OUT = {
    RECALL_WAY_OUT: "Use information states that remember all that the player did and "
    "saw, or give solve --allow_imperfect_recall to try it all the same "
    "(docs/choosing.md).",
    STRINGS_WAY_OUT: "Give solve or play --abstraction=MODULE:FUNCTION, a function "
    "(state, player) -> string of yours, or mccfr_spiel:completed_rounds where players "
    "see everything except the moves of the current round (docs/choosing.md).",
    GAME_WAY_OUT: "A run goes on only with the game that it began with: begin anew, "
    "with --overwrite or in another --output_dir, or undo the change of the game.",
    IMPORT_WAY_OUT: "name the module that registers it with --import",
}
"""Ways out that the library names and that take an argument of a Python function -> the
ways out on the command line."""


def has_bars() -> bool:
    """Whether progress is to be shown: on a terminal, and unless it is to be quiet."""
    return not (hides_bar() or flags.FLAGS.quiet)


def show(text: str) -> None:
    """Prints a line. If that fails, for example because standard output is a closed
    pipe or a file on a full disk, the work goes on all the same."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may be None
        tqdm.write(text)
        sys.stdout.flush()


def warn(text: str) -> None:
    """Prints a line to standard error, as `show` does to standard output, with the ways
    out that there are on the command line."""
    for library, here in _WAYS_OUT.items():
        text = text.replace(library, here)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


class Stopped(KeyboardInterrupt):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__("Interrupted.")
        self.exit_code = 128 + number


class OverdueError(Stopped):
    """Work has not ended within GRACE seconds after a signal."""


GRACE = 2.0
"""Seconds in which an iteration may end by itself after the first signal."""


class Signals:
    """Handlers for SIGINT and SIGTERM.

    Attributes:
        wait: while it is True, the first signal is only noted, so that the run can end
            in order. Any other signal raises Stopped.
        received: the number of the signal that was noted, or None.
        was_overdue: whether OverdueError was raised.
    """

    def __init__(self) -> None:
        self.wait = self.was_overdue = self._interrupts = False
        self.received: int | None = None
        self.handle(self._receive)

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Ends the block by OverdueError, GRACE seconds after the first signal.

        Systems without timers (Windows) wait until the block ends by itself.
        """
        self._interrupts = hasattr(signal, "setitimer")
        if self._interrupts:
            signal.signal(signal.SIGALRM, self._end)
            if self.received is not None:
                signal.setitimer(signal.ITIMER_REAL, GRACE)
        try:
            yield
        finally:
            self._interrupts = False

    def _end(self, _number: int, _frame: object) -> None:
        if self._interrupts and self.received is not None:
            self._interrupts, self.was_overdue = False, True
            raise OverdueError(self.received)

    def handle(self, handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
        """Has both signals handled in another way."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: object) -> None:
        if not self.wait or self.received is not None:
            raise Stopped(number)
        self.received = number
        if self._interrupts:
            signal.setitimer(signal.ITIMER_REAL, GRACE)
        if sys.__stderr__ is None:  # closed: 2 may be the number of the rows' file
            return
        # Not by print, which may be what the signal came into.
        with contextlib.suppress(OSError):
            os.write(2, b"\nEnding in order. A second signal ends at once.\n")


def guarded(command: Callable[[Signals], int]) -> int:
    """Runs a command; returns its exit code: 1 after an error, which is told in words,
    128 + the number of the signal after one."""
    signals = Signals()
    with contextlib.suppress(AttributeError):  # as of None, a closed one
        # Characters that it lacks are spelled, as on standard error.
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore
    try:
        with contextlib.ExitStack() as stack:
            if flags.FLAGS.quiet:  # nothing but errors is shown
                nothing = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(nothing))
            return command(signals)
    except (*IN_WORDS, ComparisonError) as error:
        warn(f"Error: {words_of_error(error)}")
        return 1
    except Stopped as error:
        print(words_of_error(error), file=sys.stderr)
        return error.exit_code
    finally:
        # All work is done and Python is about to end.
        signals.handle(signal.SIG_IGN)
