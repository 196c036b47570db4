"""The program's subcommands: which flags each has, and what it runs.

Each command has a set of absl flags. Those that several have are the flags of
`terminal.py`, which run_experiments.py has, too; a command adds a table of its own.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from absl import flags

from mccfr_spiel.command_line import commands, exporting, running, terminal
from mccfr_spiel.command_line.terminal import EXPERIMENT_NAMES, Signals, show
from mccfr_spiel.common import refusals
from mccfr_spiel.common.folders import is_game_file, load_string
from mccfr_spiel.experiments.algorithm_names import table_of
from mccfr_spiel.experiments.settings import SETTINGS

PROGRAM = "mccfr-spiel"
HELP = ("-h", "--help", "-help", "help")

_FILES = ("output_dir", "figure_format", "import")


class Command(NamedTuple):
    """A subcommand.

    Attributes:
        usage: what may stand beside flags.
        about: the first sentence says what it does.
        shared: the flags that run_experiments.py has, too.
        own: the class of its other flags, see `algorithm_names.table_of`.
        run: runs it, given the flags, the words that are no flags, and the handlers of
            signals; returns the exit code.
    """

    usage: str
    about: str
    shared: Sequence[str]
    own: type
    run: Callable[[flags.FlagValues, list[str], Signals], int]


def version() -> str:
    """The version of the package."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def _solve(values: flags.FlagValues, words: list[str], signals: Signals) -> int:
    take_game(values, words)
    return running.solve(signals)


def _experiment(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    names = words or ([values.experiment] if values.experiment else [])
    known = EXPERIMENT_NAMES
    if len(names) != 1 or names[0] not in known:
        given = " ".join(names) or "nothing"
        raise ValueError(f"{given} is none of the experiments: {', '.join(known)}.")
    return running.run_experiment(names[0])


def _play(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    words = commands.take_policy(values, words)
    return commands.run_play(values, take_game(values, words))


def _export(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    if not words:
        raise ValueError("Which file? As in: mccfr-spiel export kuhn_poker kuhn.efg")
    game = take_game(values, words[:-1])
    if not values["game"].present:
        raise ValueError(
            f"Which game? As in: mccfr-spiel export kuhn_poker {words[-1]}"
        )
    return exporting.run_export(values, game, words[-1])


COMMANDS = {
    "solve": Command(
        "[GAME]",
        "Solves a game and records how the policy converges. In a folder below "
        "results/ it leaves the table, a picture, the policy, and checkpoints from "
        "which --resume goes on.",
        (
            *SETTINGS,
            *("output_dir", "overwrite", "resume", "checkpoint_every", "quiet"),
            *("evaluation_plays", "evaluation_seconds", "figure_format", "import"),
            *terminal.CLUSTER,
        ),
        object,
        _solve,
    ),
    "compare": Command(
        "GAME [GAME ...] | --from FOLDER [FOLDER ...]",
        "Compares algorithms on games, over several seeds. Leaves the figure with "
        "bands and a table of all points. The same command goes on where it was. With "
        "--from it joins the results of earlier runs.",
        (
            *("import", "rows_per_decade", "max_memory", "twin", "threads", "quiet"),
            *("executor", "ray_address"),
        ),
        commands.OfCompare,
        lambda values, words, _: commands.run_compare(values, words),
    ),
    "experiment": Command(
        "NAME",
        "Runs a table or a figure of the papers, and goes on where it was when it is "
        f"run again. NAME is one of {', '.join(EXPERIMENT_NAMES)}.",
        (
            *("experiment", "seeds", "only", "workers", "executor", "ray_address"),
            *("tree_cache", "checkpoint_every", "threads", "quiet", *_FILES),
        ),
        object,
        _experiment,
    ),
    "play": Command(
        "[GAME | RESULTS]",
        "Plays a game against a policy, in the terminal. The policy is read from "
        "RESULTS, a folder of results or a policy's file, or solved just before.",
        ("game", "players", "import", "abstraction"),
        commands.OfPlay,
        _play,
    ),
    "explore": Command(
        "RESULTS [RESULTS ...]",
        "Opens a page in which policies can be looked at, compared, played with and "
        "changed. RESULTS is a folder of results or a policy's file. The page is on "
        "this machine only, and its link is printed.",
        ("game", "players", "import", "abstraction"),
        commands.OfExplore,
        lambda values, words, _: commands.run_explore(values, words),
    ),
    "export": Command(
        "GAME FILE",
        "Writes a game as a file for other programs. FILE ends in .efg for Gambit's "
        "extensive games, or in .svg, .pdf, .png or .tex for a drawing of the tree.",
        ("game", "players", "max_memory", "import"),
        exporting.OfExport,
        _export,
    ),
    "info": Command(
        "GAME",
        "Says what a game is: its size, which algorithms can run on it, and what they "
        "take in time and memory.",
        ("game", "players", "max_memory", "import"),
        commands.OfInfo,
        lambda values, words, _: commands.run_info(values, take_game(values, words)),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns the exit code.

    Args:
        arguments: the words after the program's name; by default those it was called
            with.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in HELP:
        show(_overview())
        return 0 if arguments else 1
    name, *words = arguments
    if name in ("--version", "version"):
        show(f"{PROGRAM} {version()}")
        return 0
    if name not in COMMANDS:
        print(
            f"Error: {name!r} is none of the commands {', '.join(COMMANDS)}."
            f"{refusals.near(name, COMMANDS)}",
            file=sys.stderr,
        )
        return 1
    command, values = COMMANDS[name], flags_of_command(COMMANDS[name])
    if {*words} & {*HELP, "--helpfull"}:
        show(_help(name, values, full="--helpfull" in words))
        return 0
    try:
        rest = values([f"{PROGRAM} {name}", *words])[1:]
    except flags.Error as error:
        near = " Did you mean --noquiet?" if "--verbose" in words else ""
        unknown = getattr(error, "flagname", "")
        having = [key for key, one in COMMANDS.items() if unknown in one.shared]
        if having:
            near += f" It is a flag of {', '.join(having)}."
        # absl's message of a flag that is true or false is a tuple.
        told = re.sub(r"\('Non-boolean .*", "neither true nor false", str(error))
        told += "." * (not told.endswith((".", "?")))
        print(f"Error: {told}{near}\nSee {PROGRAM} {name} --help.", file=sys.stderr)
        return 1
    return terminal.guarded(lambda signals: command.run(values, rest, signals))


def flags_of_command(command: Command) -> flags.FlagValues:
    """A command's flags, with their defaults; those it shares are the global ones."""
    values = flags.FlagValues()
    values.set_gnu_getopt()  # flags may follow other words
    terminal.define(table_of(command.own).values(), values)
    for name in {name for one in COMMANDS.values() for name in one.shared}:
        running.FLAGS[name].unparse()  # main() may be called again in the same process
    for name in command.shared:
        values[name] = running.FLAGS[name]
    running.FLAGS.mark_as_parsed()
    return values


def take_game(values: flags.FlagValues, words: Sequence[str]) -> str:
    """The game of --game, or of the word that stands for it.

    Raises:
        ValueError: there are several.
    """
    flag = values["game"]
    if len(words) + bool(flag.present) > 1:
        given = [str(flag.value)] * bool(flag.present) + [*words]
        raise ValueError(f"One game, please, instead of {', '.join(given)}.")
    for word in words:
        flag.parse(word)
        flag.present += 1
        flag.using_default_value = False
    if is_game_file(str(flag.value)):  # so that --resume finds it from any folder
        flag.value = load_string(str(flag.value))
    return str(flag.value)


# --- help ------------------------------------------------------------------------


def _overview() -> str:
    lines = [f"{PROGRAM} {version()}: solves OpenSpiel games.", ""]
    for name, command in COMMANDS.items():
        start = f"  {PROGRAM} {name:<11}"
        lines += textwrap.wrap(
            start + _first_sentence(command.about),
            _width(),
            subsequent_indent=" " * len(start),
        )
    lines += ["", f"{PROGRAM} COMMAND --help shows the flags of a command."]
    return "\n".join(lines)


def _help(name: str, values: flags.FlagValues, *, full: bool) -> str:
    command = COMMANDS[name]
    width = _width()
    lines = [f"{PROGRAM} {name} {command.usage} [--flag=value ...]", ""]
    lines += [*textwrap.wrap(command.about, width), ""]
    for flag_name in values:
        flag = values[flag_name]
        lines += _help_of_flag(flag, width, full=full)
    if not full:
        lines += ["", "--helpfull says more about each flag."]
    return "\n".join(lines)


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, 50), 100)


def _help_of_flag(flag: Any, width: int, *, full: bool) -> Iterable[str]:
    text = " ".join(str(flag.help).split())
    choices = getattr(flag.parser, "choices", None)
    if choices:
        text = f"{text if full else _first_sentence(text)} One of {', '.join(choices)}."
    elif not full:
        text = _first_sentence(text)
    if flag.default not in (None, "", [], False):
        shown = flag.default
        if isinstance(shown, list):
            shown = ",".join(map(str, shown))
        elif isinstance(shown, float):
            shown = f"{shown:g}".replace("e+0", "e")
        text += f" Default: {shown}."
    column = 28
    name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    first, rest = f"  {name:<{column - 2}}", " " * column
    if len(name) > column - 4:
        yield f"  {name}"
        first = rest
    yield from textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest)


def _first_sentence(text: str) -> str:
    """A text up to the first full stop that ends a sentence."""
    return re.split(r"(?<=[a-z)\]\d]\.)\s+(?=[A-Z-])", text, maxsplit=1)[0]
