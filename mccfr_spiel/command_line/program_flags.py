"""The flags of `solve` and `experiment`, which run_experiments.py shares.

Flags are absl flags. Importing this module defines them once for the process: the
settings of a run (`experiments.setting_names.SETTINGS`) and the table PROGRAM. Other
commands define additional flags from tables by `define`.
"""

import contextlib
import decimal
import math
import os
from collections.abc import Iterable
from typing import Any

from absl import flags

from mccfr_spiel.experiments.importing import import_games
from mccfr_spiel.experiments.lanctot_table import TABLE_1
from mccfr_spiel.experiments.papers import EXPERIMENTS
from mccfr_spiel.experiments.run_files import (
    FORMATS,
)
from mccfr_spiel.experiments.setting_names import CHANGEABLE, SETTINGS
from mccfr_spiel.experiments.setting_tables import Setting

FLAGS = flags.FLAGS

EXPERIMENT_NAMES = (TABLE_1, *EXPERIMENTS)

CLUSTER = ("executor", "workers", "ray_address")
"""Flags of Ray clusters, for the runs of an experiment or the batches of one run."""

EXPERIMENT_FLAGS = ("seeds", "only", "tree_cache")
"""Flags that need --experiment."""

_MAX_DIGITS = 1000
"""Maximum number of digits of an integer; `1e999999999` would exhaust the memory."""


PROGRAM = (
    Setting(
        "evaluation_plays",
        int,
        10_000,
        "Number of plays per estimate of --evaluate=sampled.",
        least=2,
    ),
    Setting(
        "evaluation_seconds",
        float,
        20.0,
        "Seconds to learn a response for each player with --evaluate=sampled.",
        least=0,
    ),
    Setting(
        "output_dir",
        str,
        None,
        "Folder of the results (default: a new folder in results/, named after the "
        "game, the algorithm and the seed, or results/EXPERIMENT).",
    ),
    Setting("overwrite", bool, False, "Overwrite the results in --output_dir."),
    Setting(
        "checkpoint_every",
        float,
        60.0,
        "Maximum number of seconds between checkpoints. A run also saves a checkpoint "
        "when it starts and ends, and after a row if saving takes less than a "
        "twentieth of the time.",
        least=0,
    ),
    Setting(
        "resume",
        bool,
        False,
        "Resume the run in --output_dir with its settings, or start it if there is "
        "none. Only these flags may change: "
        f"{', '.join(f'--{name}' for name in CHANGEABLE)}.",
    ),
    Setting(
        "figure_format",
        list,
        None,
        "Formats of the figures: png, svg, pdf, or several of these (default: png; png "
        "and svg for an experiment).",
        choices=FORMATS,
    ),
    Setting(
        "import",
        list,
        [],
        "Python modules to import first, such as those that register your games: names "
        "of modules or paths of files.",
    ),
    Setting(
        "experiment",
        str,
        None,
        "Run a table or figure of the papers instead of a single run.",
        choices=EXPERIMENT_NAMES,
    ),
    Setting(
        "seeds",
        int,
        None,
        "Number of seeds of an experiment (default: as in the paper).",
        least=1,
    ),
    Setting(
        "only",
        str,
        "",
        "Run only the settings of an experiment whose names contain this text.",
    ),
    Setting(
        "executor",
        str,
        "local",
        "Where the runs of an experiment or comparison, or the batches of a single "
        "run, are executed: processes on this machine or a Ray cluster.",
        choices=("local", "ray"),
    ),
    Setting(
        "workers",
        int,
        None,
        "Number of processes of an experiment, or of a run with --executor=ray "
        "(default: one per core, or the capacity of the cluster).",
        least=1,
    ),
    Setting(
        "ray_address",
        str,
        None,
        "Address of a Ray cluster (default: start one on this machine).",
    ),
    Setting(
        "tree_cache",
        str,
        None,
        "Folder in which an experiment keeps the trees of its games, for its processes "
        "and for later runs (default: a temporary folder).",
    ),
    Setting("quiet", bool, False, "Print nothing but errors."),
)
"""Flags of the program: how a run or an experiment is executed, not what is run."""


# --- tables -> flags ---------------------------------------------------------------


def whole_number(text: str) -> int:
    """Parses an integer, also one with an exponent such as `1e6`; raises ValueError."""
    with contextlib.suppress(ValueError):
        return flags.IntegerParser().convert(text)
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        number = decimal.Decimal("nan")
    is_small = number.is_finite() and number.adjusted() < _MAX_DIGITS
    if not is_small or number != number.to_integral_value():
        raise ValueError(f"{text} is not a whole number, such as 2000 or 2e3")
    return int(number)


class SettingParser(flags.ArgumentParser):
    """Parses a flag's text, and checks the value by the flag's `Setting`."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.choices = setting.choices if setting.kind is str else ()
        parsers = {
            float: flags.FloatParser(lower_bound=setting.least),
            list: flags.ListParser(),
            str: flags.ArgumentParser(),
        }
        integers = flags.IntegerParser(lower_bound=setting.least)
        self.syntactic_help = parsers.get(setting.kind, integers).syntactic_help

    def parse(self, argument: Any) -> Any:
        """Returns the value; raises ValueError.

        A leading `~` is expanded to the home folder, because shells do not expand it
        in --output_dir=~/x.
        """
        name, kind, choices = self.setting.name, self.setting.kind, self.setting.choices
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
                except ValueError:  # "auto" and "4GiB" are valid words
                    if kind is int:
                        raise
        return self.setting.checked(argument)


def define(table: Iterable[Setting], values: flags.FlagValues = FLAGS) -> None:
    """Defines a flag for each row of a table."""
    for setting in table:
        name, kind = setting.name, setting.kind
        if kind is bool:
            flags.DEFINE_boolean(
                name, setting.default, setting.help, flag_values=values
            )
            continue
        is_list = kind is list
        writer = flags.CsvListSerializer(",") if is_list else flags.ArgumentSerializer()
        parser = SettingParser(setting)
        flags.DEFINE(parser, name, setting.default, setting.help, values, writer)


def set_flag(flag: flags.Flag, text: str) -> None:
    """Sets a flag to a text, as if the user had given it."""
    flag.parse(text)
    flag.present += 1
    flag.using_default_value = False


define(SETTINGS.values())
define(PROGRAM)
for _name in ("checkpoint_every", "evaluation_seconds"):
    flags.register_validator(
        _name, math.isfinite, f"--{_name} must be a number of seconds, not nan or inf"
    )


def import_given() -> list[str]:
    """Imports the papers' games and the modules of --import; returns their names."""
    return import_games(FLAGS["import"].value or [])
