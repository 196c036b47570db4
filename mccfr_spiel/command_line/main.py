"""The program `mccfr-spiel`: its commands, flags and help texts.

A command has some of the shared flags in `program_flags.py`, and a table of additional
flags.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from absl import flags

from mccfr_spiel.command_line.compare_command import COMPARE_FLAGS, run_compare
from mccfr_spiel.command_line.experiment_command import run_experiment
from mccfr_spiel.command_line.exploit_command import EXPLOIT_FLAGS, run_exploit
from mccfr_spiel.command_line.exploit_command import SHARED as EXPLOIT_SHARED
from mccfr_spiel.command_line.explore_command import EXPLORE_FLAGS, run_explore
from mccfr_spiel.command_line.export_command import EXPORT_FLAGS, run_export
from mccfr_spiel.command_line.info_command import INFO_FLAGS, run_info
from mccfr_spiel.command_line.play_command import PLAY_FLAGS, run_play, take_policy
from mccfr_spiel.command_line.poker_command import POKER_FLAGS, run_poker
from mccfr_spiel.command_line.poker_command import SHARED as POKER_SHARED
from mccfr_spiel.command_line.program_flags import (
    CLUSTER,
    EXPERIMENT_NAMES,
    FLAGS,
    define,
    set_flag,
)
from mccfr_spiel.command_line.solve_command import solve
from mccfr_spiel.command_line.target_command import (
    TARGET_FLAGS,
    chooses,
    solve_to_target,
)
from mccfr_spiel.command_line.terminal import Signals, guarded, show
from mccfr_spiel.common import refusals
from mccfr_spiel.common.game_files import is_game_file
from mccfr_spiel.experiments.load_strings import load_string
from mccfr_spiel.experiments.setting_names import SETTINGS
from mccfr_spiel.experiments.setting_tables import Setting

PROGRAM = "mccfr-spiel"
HELP = ("-h", "--help", "-help", "help")

_FILES = ("output_dir", "figure_format", "import")


class Command(NamedTuple):
    """A command.

    Attributes:
        usage: arguments other than flags.
        about: description. The overview shows the first sentence.
        shared: names of its flags in `program_flags.FLAGS`.
        own: additional flags.
        run: runs the command; its arguments are the flags, the words that are not
            flags, and the signal handlers. Returns the exit code.
    """

    usage: str
    about: str
    shared: Sequence[str]
    own: Sequence[Setting]
    run: Callable[[flags.FlagValues, list[str], Signals], int]


def version() -> str:
    """The version of the package."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def _solve(values: flags.FlagValues, words: list[str], signals: Signals) -> int:
    take_game(values, words)
    if chooses(values):
        return solve_to_target(values, signals)
    return solve(signals)


def _experiment(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    names = words or ([values.experiment] if values.experiment else [])
    if len(names) != 1 or names[0] not in EXPERIMENT_NAMES:
        given = " ".join(names)
        start = (
            f"Unknown experiment {given!r}." if names else "An experiment is required."
        )
        hint = refusals.near(given, EXPERIMENT_NAMES)
        raise ValueError(f"{start}{hint} Expected {', '.join(EXPERIMENT_NAMES)}.")
    return run_experiment(names[0])


def _play(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    words = take_policy(values, words)
    return run_play(values, take_game(values, words))


def _export(values: flags.FlagValues, words: list[str], _: Signals) -> int:
    if len(words) + values["game"].present < 2:
        raise ValueError(
            "A game and a file are required. Example: mccfr-spiel export kuhn_poker "
            "kuhn.efg"
        )
    *games, path = words
    return run_export(values, take_game(values, games), path)


COMMANDS = {
    "solve": Command(
        "[GAME]",
        "Solves a game and records the convergence of the policy. Without --algorithm "
        "and other flags of a run, it chooses algorithms until a target is reached. A "
        "folder in results/ gets the table, a figure, the policy, and checkpoints.",
        (
            *SETTINGS,
            *("output_dir", "overwrite", "resume", "checkpoint_every", "quiet"),
            *("evaluation_plays", "evaluation_seconds", "figure_format", "import"),
            *CLUSTER,
        ),
        TARGET_FLAGS,
        _solve,
    ),
    "compare": Command(
        "GAME [GAME ...] | --from FOLDER [FOLDER ...]",
        "Compares algorithms on games, over several seeds. Writes figures with bands "
        "and a table of all points. Repeat the command to resume an interrupted "
        "comparison. With --from, joins the results of earlier runs instead.",
        (
            *("import", "rows_per_decade", "max_memory", "twin", "threads", "quiet"),
            *("executor", "ray_address"),
        ),
        COMPARE_FLAGS,
        lambda values, words, _: run_compare(values, words),
    ),
    "experiment": Command(
        "NAME",
        "Runs a table or a figure of the papers. Repeat the command to resume an "
        f"interrupted experiment. NAME is one of {', '.join(EXPERIMENT_NAMES)}.",
        (
            *("experiment", "seeds", "only", "workers", "executor", "ray_address"),
            *("tree_cache", "checkpoint_every", "threads", "quiet", *_FILES),
        ),
        (),
        _experiment,
    ),
    "play": Command(
        "[GAME | RESULTS]",
        "Plays a game against a policy, in the terminal. RESULTS is a folder of "
        "results or the file of a policy; without it, the game is solved first.",
        ("game", "players", "import", "abstraction"),
        PLAY_FLAGS,
        _play,
    ),
    "explore": Command(
        "RESULTS [RESULTS ...]",
        "Opens a page to view, compare, play and change policies. RESULTS is a folder "
        "of results or the file of a policy. Only this machine can open the page, by "
        "the printed link.",
        ("game", "players", "import", "abstraction"),
        EXPLORE_FLAGS,
        lambda values, words, _: run_explore(values, words),
    ),
    "export": Command(
        "GAME FILE",
        "Writes a game into a file for other programs. FILE ends in .efg for Gambit, "
        "or in .svg, .pdf, .png or .tex for a drawing of the tree.",
        ("game", "players", "max_memory", "import"),
        EXPORT_FLAGS,
        _export,
    ),
    "poker": Command(
        "--board=CARDS --ranges=RANGE|RANGE --pot=CHIPS --stacks=CHIPS",
        "Solves a spot of heads-up no-limit hold'em. Prints the EVs and the "
        "frequencies of the first decision, and writes a table of all hands.",
        POKER_SHARED,
        POKER_FLAGS,
        run_poker,
    ),
    "exploit": Command(
        "[GAME] --opponent=RESULTS",
        "Computes a policy that exploits a known opponent at a limited risk. Several "
        "values of --p give the curve of return against risk.",
        EXPLOIT_SHARED,
        EXPLOIT_FLAGS,
        lambda values, words, _: run_exploit(values, take_game(values, words)),
    ),
    "info": Command(
        "GAME",
        "Shows the size of a game, the algorithms that can solve it, and the memory "
        "and time that they need.",
        ("game", "players", "max_memory", "import"),
        INFO_FLAGS,
        lambda values, words, _: run_info(values, take_game(values, words)),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns the exit code.

    Args:
        arguments: the words after the program's name; by default those of `sys.argv`.
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
            f"Error: unknown command {name!r}.{refusals.near(name, COMMANDS)} Expected "
            f"{', '.join(COMMANDS)}.",
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
        hint = " Did you mean --noquiet?" if "--verbose" in words else ""
        unknown = getattr(error, "flagname", "")
        others = [key for key, other in COMMANDS.items() if unknown in other.shared]
        if others:
            hint += f" It is a flag of {', '.join(others)}."
        # absl's message for a boolean flag is the text of a tuple.
        message = re.sub(r"\('Non-boolean .*", "expected true or false", str(error))
        message += "." * (not message.endswith((".", "?")))
        print(f"Error: {message}{hint}\nSee {PROGRAM} {name} --help.", file=sys.stderr)
        return 1
    return guarded(lambda signals: command.run(values, rest, signals))


def flags_of_command(command: Command) -> flags.FlagValues:
    """The flags of a command, with their defaults; shared flags are the global ones."""
    values = flags.FlagValues()
    values.set_gnu_getopt()  # flags can follow arguments
    define(command.own, values)
    for name in {name for other in COMMANDS.values() for name in other.shared}:
        FLAGS[name].unparse()  # main() can run several times in a process
    for name in command.shared:
        values[name] = FLAGS[name]
    FLAGS.mark_as_parsed()
    return values


def take_game(values: flags.FlagValues, words: Sequence[str]) -> str:
    """The game of --game or of the argument GAME, which sets --game.

    Raises:
        ValueError: more than one game is given.
    """
    flag = values["game"]
    if len(words) + bool(flag.present) > 1:
        given = [str(flag.value)] * bool(flag.present) + [*words]
        raise ValueError(f"Expected one game, not {', '.join(given)}.")
    for word in words:
        set_flag(flag, word)
    if is_game_file(str(flag.value)):  # --resume may run in another folder
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
        lines += ["", "--helpfull shows the full descriptions."]
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
    """The first sentence of a text."""
    return re.split(r"(?<=[a-z)\]\d]\.)\s+(?=[A-Z-])", text, maxsplit=1)[0]
