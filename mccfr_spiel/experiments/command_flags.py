"""The flags of the command line, as absl defines them.

Flags that say what is run have the names of `flags.Flags`. The module that calls
`define_flags` owns the flags, so its --help lists them.
"""

import decimal
import math

from absl import flags

from mccfr_spiel.algorithms import AUTO, SCHEDULES
from mccfr_spiel.experiments import reproduction, table_1
from mccfr_spiel.experiments.algorithm_names import (
    AVERAGINGS,
    METHODS,
    MINIMIZERS,
    SAMPLINGS,
)
from mccfr_spiel.experiments.flags import CHANGEABLE, DEFAULT
from mccfr_spiel.experiments.settings import EVALUATIONS
from mccfr_spiel.offline import linear_program
from mccfr_spiel.offline.methods import OFFLINE_METHODS
from mccfr_spiel.solver import STORES
from mccfr_spiel.storage.results_folder import PICTURES

flags.disclaim_key_flags()

FORMATS = tuple(name.rpartition(".")[2] for name in PICTURES)
"""What --figure_format may be."""

_MOST_DIGITS = 1000
"""Of a whole number in a flag; `1e999999999` would fill the memory."""


class WholeNumberParser(flags.IntegerParser):
    """Reads integers, also in the form `1e6`."""

    def convert(self, argument: str | int) -> int:
        """The integer; raises TypeError or ValueError."""
        try:
            return super().convert(argument)
        except ValueError:
            pass
        try:
            number = decimal.Decimal(str(argument))
        except decimal.InvalidOperation:
            number = decimal.Decimal("nan")
        is_small = number.is_finite() and number.adjusted() < _MOST_DIGITS
        if not is_small or number != number.to_integral_value():
            raise ValueError(f"{argument} is not a whole number, such as 2000 or 2e3")
        return int(number)


class _BatchParser(WholeNumberParser):
    """Reads whole numbers from 1 on, and AUTO."""

    def __init__(self) -> None:
        super().__init__(lower_bound=1)
        self.syntactic_help += f", or {AUTO}"

    def parse(self, argument: str | int) -> int | str:  # type: ignore[override]
        """The value; raises ValueError."""
        return AUTO if argument == AUTO else super().parse(argument)


def define_integer(
    name: str,
    default: int | None,
    words: str,
    *,
    lower_bound: int | None = None,
    flag_values: flags.FlagValues = flags.FLAGS,
) -> None:
    """Defines a flag for a whole number, which may be written `1e6`.

    Args:
        name: of the flag.
        default: its value if it is not given.
        words: its help.
        lower_bound: the least value.
        flag_values: to what the flag is added.
    """
    flags.DEFINE(
        WholeNumberParser(lower_bound=lower_bound),
        name,
        default,
        words,
        flag_values=flag_values,
        serializer=flags.ArgumentSerializer(),
    )


def define_flags() -> None:
    """Defines the flags; called once, by the program that parses them."""
    _define_method()
    _define_limits()
    _define_evaluation()
    _define_files()
    _define_experiments()
    flags.register_validator(
        "figure_format",
        lambda formats: formats is None or (formats and {*formats} <= {*FORMATS}),
        f"--figure_format must be of {', '.join(FORMATS)}",
    )
    for name in ("checkpoint_every", "evaluation_seconds"):
        flags.register_validator(
            name, math.isfinite, f"--{name} must be a number of seconds, not nan or inf"
        )


def _rules_with(parameter: str) -> str:
    """The rules that have a parameter, in words."""
    names = [name for name, rule in MINIMIZERS.items() if parameter in rule._asdict()]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _define_method() -> None:
    """The game, and what solves it."""
    flags.DEFINE_string(
        "game", DEFAULT["game"], "Any string that pyspiel.load_game takes."
    )
    define_integer(
        "players",
        None,
        "Number of players, where the game has a choice.",
        lower_bound=1,
    )
    flags.DEFINE_enum(
        "algorithm",
        DEFAULT["algorithm"],
        [*METHODS, *SCHEDULES],
        "What to run. --sampling, --minimizer, --averaging and --alternating replace "
        f"parts of it, except in {', '.join(OFFLINE_METHODS)}, which have none.",
    )
    define_integer(
        "horizon",
        None,
        f"Of {' and '.join(SCHEDULES)}: the iterations in the course of which their "
        "parameters change; as many as --iterations if not given.",
        lower_bound=1,
    )
    flags.DEFINE_enum("sampling", None, SAMPLINGS, "What a walk over the tree samples.")
    flags.DEFINE_float(
        "epsilon",
        None,
        "Exploration of outcome sampling, in (0, 1], 0.6 if not given; or the least "
        "probability of an action in average-strategy sampling, 0.05 if not given.",
    )
    flags.DEFINE_float(
        "threshold", None, "Of average-strategy sampling; 1000 if not given."
    )
    flags.DEFINE_float("bonus", None, "Of average-strategy sampling; 1e6 if not given.")
    flags.DEFINE_float(
        "prune_below",
        None,
        "External sampling leaves out actions of a regret below this in 95 % of walks.",
    )
    flags.DEFINE_enum(
        "baseline",
        None,
        ["learned", "predictive"],
        "Baselines that reduce the variance of outcome and external sampling; none if "
        "not given.",
    )
    flags.DEFINE_float(
        "baseline_rate",
        None,
        "How quickly baselines move, in (0, 1]; 0.5 if not given.",
    )
    flags.DEFINE_enum("minimizer", None, MINIMIZERS, "The rule that moves the policy.")
    flags.DEFINE_float(
        "step_size",
        None,
        f"Step size of {_rules_with('step_size')}, 1 if not given, or of mirror_prox, "
        "by default 1 over the largest entry of the payoff matrix.",
    )
    flags.DEFINE_enum(
        "weights",
        None,
        ["constant", "kroer"],
        f"Weights of the dilated entropy in {_rules_with('weights')}; constant if not "
        "given.",
    )
    flags.DEFINE_float(
        "random_initial_regrets",
        None,
        "Start from random regrets between 0 and this, drawn by --seed; from 0 if not "
        "given.",
    )
    flags.DEFINE_float(
        "alpha",
        None,
        "In iteration t, with k = t - 1, discounted_regret_matching multiplies regrets "
        "above 0 by k ** alpha / (k ** alpha + 1); 1.5 if not given. "
        "predictive_regret_matching_plus, too, if this is given.",
    )
    flags.DEFINE_float(
        "beta",
        None,
        "The same for the other regrets of discounted_regret_matching; 0 if not given.",
    )
    flags.DEFINE_float(
        "prediction",
        None,
        "The weight of what predictive_regret_matching_plus expects of the next "
        "iteration: 0 for nothing, 1 if not given.",
    )
    flags.DEFINE_float(
        "temperature",
        None,
        "Of mmd (magnetic mirror descent): how much entropy counts; 1 if not given.",
    )
    flags.DEFINE_enum(
        "averaging",
        None,
        AVERAGINGS,
        "Weight of iteration t in the average policy: 1, t or t squared.",
    )
    flags.DEFINE_float(
        "gamma",
        None,
        "In place of --averaging: the weight of iteration t is t to this power, in 0 "
        f".. 100. Of {' and '.join(SCHEDULES)}: the power in the first iteration, 30 "
        "if not given; it falls by 5.",
    )
    flags.DEFINE_boolean(
        "alternating", None, "Update the players one after the other, or all at once."
    )
    flags.DEFINE(
        _BatchParser(),
        "batch",
        None,
        "Walks for each player before an update, where something is sampled; 1 if not "
        f"given. {AUTO} has them grow with the iterations. Threads share large batches "
        "on whole trees.",
    )


def _define_limits() -> None:
    """When a run ends, and when its rows are due."""
    define_integer(
        "iterations",
        DEFAULT["iterations"],
        "Number of iterations; each updates every player once.",
        lower_bound=1,
    )
    define_integer(
        "until_nodes_touched",
        None,
        "Stop with the first iteration after which so many nodes have been touched, "
        "whatever --iterations says; rows are then spaced by nodes touched.",
        lower_bound=1,
    )
    define_integer("seed", DEFAULT["seed"], "Seed of all draws.")
    define_integer(
        "print_freq",
        None,
        "A row every so many iterations, or nodes with --until_nodes_touched; by "
        "default, rows grow further apart.",
        lower_bound=1,
    )
    define_integer(
        "rows_per_decade",
        DEFAULT["rows_per_decade"],
        "How many rows from 10 to 100, from 100 to 1000, ..., without --print_freq.",
        lower_bound=1,
    )
    define_integer(
        "rows_from",
        DEFAULT["rows_from"],
        "Without --print_freq, no row is due before this.",
        lower_bound=1,
    )
    define_integer(
        "keep_policies",
        None,
        "Keep the average policies of so many rows from 10 to 100, from 100 to 1000, "
        "..., in policy_after_10.bin and so on: 1 for those of powers of ten. They are "
        "the steps of the slider of mccfr-spiel explore. Only the last one if not "
        "given.",
        lower_bound=1,
    )
    flags.DEFINE_float(
        "until_nash_conv",
        None,
        "Stop at the first row whose NashConv is not above this.",
    )


def _define_evaluation() -> None:
    """How a policy is measured, and what that and the offline methods may take."""
    flags.DEFINE_enum(
        "evaluate",
        DEFAULT["evaluate"],
        EVALUATIONS,
        "exact: NashConv in each row, which takes the whole game tree. sampled: at the "
        "end the policy is played, for its value and for a lower bound of what a best "
        "response gains (evaluation.json). none: only solve.",
    )
    define_integer(
        "evaluation_plays",
        10_000,
        "Plays for each estimate of --evaluate=sampled.",
        lower_bound=2,
    )
    flags.DEFINE_float(
        "evaluation_seconds",
        20.0,
        "Seconds of learning a response for each player, with --evaluate=sampled.",
        lower_bound=0.0,
    )
    flags.DEFINE_boolean(
        "evaluate_last",
        DEFAULT["evaluate_last"],
        "Add the NashConv of the current policy, the last iterate, to each row and to "
        "the picture.",
    )
    flags.DEFINE_boolean(
        "bounds",
        DEFAULT["bounds"],
        "Add the theorem's bound on NashConv, which holds with probability 0.95 where "
        "something is sampled, to results.csv and the picture.",
    )
    flags.DEFINE_enum(
        "method",
        None,
        linear_program.METHODS,
        "How HiGHS solves the linear program; simplex if not given.",
    )
    flags.DEFINE_enum(
        "factorization",
        None,
        linear_program.SPARSIFICATIONS,
        "How sparsified_lp factors the payoff matrix; differences if not given.",
    )
    flags.DEFINE_float("time_limit", None, "Seconds for HiGHS; none if not given.")
    define_integer(
        "max_nodes",
        DEFAULT["max_nodes"],
        "The most nodes of the tree kept in memory.",
        lower_bound=1,
    )
    flags.DEFINE_string(
        "max_memory",
        None,
        "The most memory that the program may take, such as 4GiB; by default half of "
        "what is free when it begins. A game whose whole tree cannot fit is refused at "
        "once. A run that samples ends when the memory is full, with all files "
        "written; --resume goes on with more.",
    )
    flags.DEFINE_boolean(
        "twin",
        DEFAULT["twin"],
        "Whether the game's compiled twin stands in for it: it expands the whole tree, "
        "and walks and plays without a tree go over it, in less time and with the same "
        "results; by default where it has one and saves time.",
    )
    flags.DEFINE_enum(
        "store",
        DEFAULT["store"],
        STORES,
        "Whether an algorithm that samples keeps the nodes that it meets: tree, or "
        "none, which walks over compiled rules of the game. auto keeps them where the "
        "whole tree fits, or there are no such rules.",
    )
    flags.DEFINE_boolean(
        "allow_imperfect_recall",
        DEFAULT["allow_imperfect_recall"],
        "Solve a game whose information-state strings forget what a player did or saw, "
        "as those of hold'em do. No theorem covers that. Takes --evaluate=sampled or "
        "none.",
    )
    define_integer(
        "threads",
        None,
        "The most threads that share a pass over the whole tree, as CFR and NashConv "
        "make them, or the walks of a large batch; one for each core if not given. A "
        "small game has fewer. With --executor=ray each worker of a single run has as "
        "many, one if not given. No result depends on them.",
        lower_bound=1,
    )


def _define_files() -> None:
    """The folder of a run."""
    flags.DEFINE_string(
        "output_dir",
        None,
        "Folder for the results; by default a new one below results/, named after the "
        "game, the algorithm and the seed.",
    )
    flags.DEFINE_boolean("overwrite", False, "Replace the results in --output_dir.")
    flags.DEFINE_float(
        "checkpoint_every",
        60.0,
        "The most seconds between two checkpoints. A run also begins and ends with "
        "one, and makes one with a row if saving takes less than a twentieth of the "
        "time.",
        lower_bound=0.0,
    )
    flags.DEFINE_boolean(
        "resume",
        False,
        "Go on with the run in --output_dir, with its settings; begin it if there is "
        f"none. Only {' and '.join(CHANGEABLE)} may change.",
    )
    flags.DEFINE_list(
        "figure_format",
        None,
        f"{', '.join(FORMATS)}, or several of these; png if not given, and svg, too, "
        "for an experiment.",
    )
    flags.DEFINE_list(
        "import",
        [],
        "Python modules to import first, such as those that register a game of yours: "
        "their names, or the paths of their files.",
    )


def _define_experiments() -> None:
    """The papers' tables and figures."""
    flags.DEFINE_enum(
        "experiment",
        None,
        [table_1.NAME, *reproduction.EXPERIMENTS],
        "A table or figure of the papers, in place of a single run.",
    )
    define_integer(
        "seeds",
        None,
        "How many seeds an experiment runs; as many as in the paper if not given.",
        lower_bound=1,
    )
    flags.DEFINE_string(
        "only", "", "Run only the settings of an experiment whose names contain this."
    )
    flags.DEFINE_enum(
        "executor",
        "local",
        ["local", "ray"],
        "What runs the settings of an experiment, or makes the walks of a single run's "
        "batches.",
    )
    define_integer(
        "workers",
        None,
        "Processes of an experiment, or of a run with --executor=ray; if not given, "
        "one for each core, or as many as the cluster has room for.",
        lower_bound=1,
    )
    flags.DEFINE_string(
        "ray_address",
        None,
        "Address of a Ray cluster; one is started here if not given.",
    )
    flags.DEFINE_string(
        "tree_cache",
        None,
        "Folder of an experiment's game trees; the user's cache folder if not given.",
    )
