"""Names: of modules, of settings, and of algorithms in settings, legends and files.

A *method* here is anything that solves a game: an `Algorithm`, which `Solver` runs, or
an `OfflineMethod`. Its name and its parts come from the value alone, so two settings
that run the same thing agree on what it is called. In files a method is written as its
name in METHODS or as its repr, the code that makes it.
"""

import dataclasses
import functools
import importlib
import inspect
import math
import operator
import os
import pathlib
import re
import sys
import traceback
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Annotated, Any, NamedTuple, TypeVar

from mccfr_spiel.algorithms import (
    ALGORITHMS,
    OWN_KINDS,
    RULES,
    SCHEDULES,
    Algorithm,
    Averaging,
    Minimizer,
    OwnPart,
    Part,
    Sampling,
    averages,
    check_algorithm,
    full,
    near_algorithms,
    polynomial,
    samplings,
    schedule_of,
    value_in,
)
from mccfr_spiel.common import refusals
from mccfr_spiel.offline import OFFLINE_METHODS, OfflineMethod, linear_program

# --- modules by their names, or by the paths of their files ------------------------


GAMES = "mccfr_spiel.games"
"""The papers' games."""


def import_games(modules: Iterable[str]) -> list[str]:
    """Imports the papers' games and then modules of a user's.

    Args:
        modules: names of modules, installed or in the working directory, or paths of
            Python files.

    Returns:
        All of them as `import_module` finds them from any working directory.

    Raises:
        ValueError: a module cannot be imported, or its code raises an error.
    """
    importlib.import_module(GAMES)
    found = [GAMES]
    for name in modules:
        if name.endswith(".py"):
            name = os.path.abspath(os.path.expanduser(name))
        try:
            import_module(name)
        except ImportError as error:
            raise ValueError(
                f"--import={name}: {error}. Give the name of a module that is "
                "installed or in this folder, or the path of a Python file."
            ) from error
        except (Exception, SystemExit) as error:  # modules raise what they like
            traceback.print_exception(error)
            raise ValueError(
                f"--import={name}: the module ends in {type(error).__name__}: {error}"
            ) from error
        found.append(name)
    return found


def import_module(name: str) -> ModuleType:
    """Imports a module by its name, also from the working directory, or by its file.

    A module of a file is called as the file is, without ".py". The file's folder, and
    the working directory, come last in `sys.path`, so that nothing in them hides an
    installed package.

    Raises:
        ImportError: there is no such module or file, or another module has its name.
    """
    path, folder = pathlib.Path(name).expanduser().absolute(), os.getcwd()
    is_file = name.endswith(".py")
    if is_file:
        if not path.is_file():
            raise ImportError(f"there is no file {path}")
        name, folder = path.stem, str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # the file may be a moment old
    module = importlib.import_module(name)
    if is_file and pathlib.Path(module.__file__ or "").absolute() != path:
        raise ImportError(f"another module is called {name!r}; rename the file")
    return module


def value_of(text: str) -> Any:
    """What MODULE:NAME names; MODULE is as in `import_module`.

    Raises:
        ValueError: the module cannot be imported, or has nothing of that name.
    """
    module, _, name = text.rpartition(":")
    try:
        return operator.attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{text!r} is not MODULE:NAME of something in a module that is installed "
            f"or in this folder, nor FILE.py:NAME: {error}."
        ) from error


# --- tables of settings: classes whose fields are read by programs, too ---------------
#
# A field says what may be said of a setting: its name, its type, its default, and in
# the docstring of the class what it means. From that come the flags of the command
# line, the checks of values from files, and the pages of the documentation.

Count = Annotated[int, 1]
"""A whole number from 1 on."""


class Setting(NamedTuple):
    """A line of a table.

    Attributes:
        name: of the setting and of its flag.
        kind: the type of its values. None is always allowed, and stands for "not
            given".
        default: when it is not given.
        help: what it means.
        least: the least number, or None.
        choices: the words that it may be; empty for any.
        path: which field of an algorithm it is, as `part.field`; else empty.
    """

    name: str
    kind: Any
    default: Any
    help: str
    least: int | None = None
    choices: Collection[str] = ()
    path: str = ""

    def checked(self, value: Any) -> Any:
        """The value, a whole number as an int; raises ValueError if it cannot be."""
        name = self.name
        if value is None and self.default is None:
            return None
        if self.kind is bool:
            return refusals.flag(value, name)
        if isinstance(value, bool) or (self.kind is str and not isinstance(value, str)):
            kind = "string" if self.kind is str else "number"
            raise ValueError(f"{name}={value!r} is not a {kind}.")
        if self.kind is int:
            return refusals.integer(value, name, self.least)
        if self.kind is float:
            least = -math.inf if self.least is None else self.least
            return refusals.number(value, name, least, math.inf)
        is_own = name in OWN_KINDS and ":" in str(value)
        if self.choices and not is_own:
            refusals.choice(value, name, self.choices)
        return value


def table_of(fields: type) -> dict[str, Setting]:
    """The annotated fields of a class: name -> line of the table.

    What follows a type in `Annotated` is the least value (an int), the path (a string)
    or the choices. A field without a value has None as its default.
    """
    helps = _attributes(fields)
    table = {}
    for name, hint in typing.get_type_hints(fields, include_extras=True).items():
        more: list[Any] = []
        kinds = [one for one in typing.get_args(hint) if one is not types.NoneType]
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = functools.reduce(operator.or_, kinds)
        if typing.get_origin(hint) is Annotated:
            hint, *more = typing.get_args(hint)
        found = {_PLACES.get(type(one), "choices"): one for one in more}
        default, words = getattr(fields, name, None), helps.get(name, "")
        name = name.removesuffix("_")  # of a word that Python reserves
        table[name] = Setting(name, hint, default, words, **found)
    return table


_PLACES = {int: "least", str: "path"}


def _attributes(documented: type) -> dict[str, str]:
    """What the docstring of a class says of each attribute, in one line."""
    text = inspect.getdoc(documented) or ""
    _, _, section = text.partition("\nAttributes:\n")
    section, _, _ = section.partition("\n\n")
    found = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}


# --- what algorithms and their parts are called ---------------------------------------

Method = Algorithm | OfflineMethod

T = TypeVar("T")

METHODS: dict[str, Method] = {**ALGORITHMS, **OFFLINE_METHODS}
"""Everything that has a name of its own."""

SAMPLINGS = {
    name.lower(): one
    for name, one in vars(samplings).items()
    if isinstance(one, Sampling)
}
SAMPLINGS["pruned"] = full(prune=True)
SAMPLINGS["pruned_by_regret"] = full(prune="regret")
"""The estimators, as settings call them."""


MINIMIZERS: dict[str, Minimizer] = {
    name: kind(**{"step_size": 1.0} if "step_size" in kind.ranges else {})
    for name, kind in RULES.items()
}
"""The local rules with their default parameters; the step size is 1."""

AVERAGINGS = {
    name.lower(): one
    for name, one in vars(averages).items()
    if isinstance(one, Averaging)
}
"""The averages, as settings call them."""


BASELINES, ENTROPIES = ("learned", "predictive"), ("constant", "kroer")

# --- the settings of an algorithm's parts ------------------------------------------


class Parts:
    """The settings of a method's parts; they replace those of the named method.

    Attributes:
        horizon: Of hs_dcfr and hs_pcfr_plus: the iterations in the course of which
            their parameters change; as many as the run has if not given.
        sampling: What a walk over the tree samples.
        epsilon: Exploration of outcome sampling, in (0, 1], 0.6 if not given; or the
            least probability of an action in average-strategy sampling, 0.05 if not
            given.
        threshold: Of average-strategy sampling; 1000 if not given.
        bonus: Of average-strategy sampling; 1e6 if not given.
        prune_below: External sampling leaves out actions of a regret below this in 95 %
            of walks.
        baseline: Baselines that reduce the variance of outcome and external sampling;
            none if not given.
        baseline_rate: How quickly baselines move, in (0, 1]; 0.5 if not given.
        minimizer: The rule that moves the policy.
        step_size: Step size of the rules with dilated entropy, ftrl, omd, their
            optimistic relatives and mmd, 1 if not given; or of mirror_prox, by default
            1 over the largest entry of the payoff matrix.
        weights: Weights of the dilated entropy in these rules; constant if not given.
        random_initial_regrets: Start from random regrets between 0 and this, drawn by
            the seed; from 0 if not given.
        alpha: In iteration t, with k = t - 1, discounted_regret_matching multiplies
            regrets above 0 by k ** alpha / (k ** alpha + 1); 1.5 if not given.
            predictive_regret_matching_plus, too, if this is given.
        beta: The power for the other regrets of discounted_regret_matching; 0 if not
            given.
        prediction: The weight of what predictive_regret_matching_plus expects of the
            next iteration: 0 for nothing, 1 if not given.
        temperature: Of mmd (magnetic mirror descent): how much entropy counts; 1 if not
            given.
        averaging: Weight of iteration t in the average policy: 1, t or t squared.
        gamma: In place of averaging: the weight of iteration t is t to this power, in
            0 .. 100. Of hs_dcfr and hs_pcfr_plus: the power in the first iteration, 30
            if not given; it falls by 5.
        alternating: Update the players one after the other, or all at once.
        batch: Walks for each player before an update, where something is sampled; 1 if
            not given. With auto they grow with the iterations. Threads share large
            batches on whole trees.
        method: How HiGHS solves the linear program; simplex if not given.
        factorization: How sparsified_lp factors the payoff matrix; differences if not
            given.
        time_limit: Seconds for HiGHS; none if not given.
    """

    horizon: Count | None = None
    sampling: Annotated[str, (*SAMPLINGS,)] | None = None
    epsilon: Annotated[float, "sampling.epsilon"] | None = None
    threshold: Annotated[float, "sampling.threshold"] | None = None
    bonus: Annotated[float, "sampling.bonus"] | None = None
    prune_below: Annotated[float, "sampling.prune_below"] | None = None
    baseline: Annotated[str, "sampling.baseline", BASELINES] | None = None
    baseline_rate: Annotated[float, "sampling.baseline_rate"] | None = None
    minimizer: Annotated[str, (*MINIMIZERS,)] | None = None
    step_size: Annotated[float, "minimizer.step_size"] | None = None
    weights: Annotated[str, "minimizer.weights", ENTROPIES] | None = None
    random_initial_regrets: Annotated[float, "minimizer.initial_regret"] | None = None
    alpha: Annotated[float, "minimizer.alpha"] | None = None
    beta: Annotated[float, "minimizer.beta"] | None = None
    prediction: Annotated[float, "minimizer.prediction"] | None = None
    temperature: Annotated[float, "minimizer.temperature"] | None = None
    averaging: Annotated[str, (*AVERAGINGS,)] | None = None
    gamma: float | None = None
    alternating: bool | None = None
    batch: Annotated[int | str, 1] | None = None
    method: Annotated[str, (*linear_program.METHODS,)] | None = None
    factorization: Annotated[str, (*linear_program.SPARSIFICATIONS,)] | None = None
    time_limit: float | None = None


PARTS = table_of(Parts)

_FIELDS = {one.path.split(".")[1]: one.name for one in PARTS.values() if one.path}
"""The field of a part -> the setting that it is."""

_OF_PROGRAMS = ("method", "factorization", "time_limit")


# --- parts -> method -----------------------------------------------------------


def make_method(given: Mapping[str, Any]) -> Method:
    """The method of the name `given["algorithm"]`, with the parts that are given.

    Args:
        given: names in PARTS -> values, None for those that are not given.

    Raises:
        ValueError: a name is unknown, or the method has no such part.
    """
    parts = {name: given[name] for name in PARTS if given.get(name) is not None}
    text = given.get("algorithm") or "external_sampling"
    if text in SCHEDULES:
        use_gamma = "averaging" not in parts and "gamma" in parts
        more = {"gamma": parts.pop("gamma")} if use_gamma else {}
        method = SCHEDULES[text](parts.pop("horizon"), **more)
    else:
        method = read_method(text)
    known = PARTS.keys() - {*_OF_PROGRAMS, "horizon"}
    if isinstance(method, OfflineMethod):
        known = {one.name for one in dataclasses.fields(method)}
    for name in parts.keys() - known:
        other = f"choose {_choices('algorithm', SCHEDULES)}, or "
        raise ValueError(
            f"{name}={parts[name]} is given, but {text} has none; "
            f"{other * (name == 'horizon')}drop it."
        )
    if isinstance(method, OfflineMethod):
        return method._replace(**parts)
    return _algorithm(method, parts)


def _algorithm(base: Algorithm, parts: dict[str, Any]) -> Algorithm:
    """The algorithm with other parts; raises ValueError."""
    tables = {"sampling": SAMPLINGS, "minimizer": MINIMIZERS, "averaging": AVERAGINGS}
    changes: dict[str, Any] = {
        name: named(name, parts[name], values)
        for name, values in tables.items()
        if name in parts
    }
    changes |= {name: parts[name] for name in ("alternating", "batch") if name in parts}
    if "gamma" in parts:
        if "averaging" in parts:
            raise ValueError(
                f"averaging={parts['averaging']} and gamma={parts['gamma']} both say "
                "how iterations weigh in the average; drop one."
            )
        changes["averaging"] = polynomial(parts["gamma"])
    algorithm = base._replace(**changes)
    for kind in ("sampling", "minimizer"):
        fields = {
            PARTS[name].path.removeprefix(f"{kind}."): value
            for name, value in parts.items()
            if PARTS[name].path.startswith(f"{kind}.")
        }
        _check_has(getattr(algorithm, kind), fields)
        try:
            part = getattr(algorithm, kind)._replace(**fields)
        except ValueError as error:
            if "initial_regret" in fields:
                error.add_note("random_initial_regrets sets it.")
            raise
        algorithm = algorithm._replace(**{kind: part})
    check_algorithm(algorithm)
    return algorithm


def _check_has(part: Sampling | Minimizer, fields: Mapping[str, Any]) -> None:
    """Raises ValueError unless a part goes by these parameters."""
    explores = isinstance(part, Sampling) and part.player in ("epsilon", "average")
    if isinstance(part, Sampling) and "epsilon" in fields and not explores:
        raise ValueError(
            f"epsilon={fields['epsilon']} is given, but only outcome sampling explores "
            "with epsilon, and average-strategy sampling has one; choose "
            "sampling=outcome or sampling=average_strategy, or drop epsilon."
        )
    for name in fields.keys() - part._asdict().keys():
        having = [rule for rule, one in MINIMIZERS.items() if name in one._asdict()]
        raise ValueError(
            f"{_FIELDS[name]}={fields[name]} is given, but {part} has none; choose "
            f"{_choices('minimizer', having)}, or drop it."
        )


def _choices(flag: str, names: Iterable[str]) -> str:
    """`flag=one or flag=other`."""
    words = [f"{flag}={name}" for name in names]
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def named(kind: str, name: str, values: Mapping[str, T]) -> T:
    """The value of a name, or the own rule or estimator of a user's MODULE:FUNCTION."""
    if ":" in name and kind in OWN_KINDS:
        found, own = value_of(name), OWN_KINDS[kind]
        made: Any = found if isinstance(found, Part) else own(**{own.key: found})
        return made
    return values[name]


def checked(method: object) -> Method:
    """The method itself, or the one that a text spells.

    Raises:
        ValueError: it is no method that can be run.
    """
    if isinstance(method, str):
        return read_method(method)
    if isinstance(method, OfflineMethod):
        return method
    check_algorithm(method)
    assert isinstance(method, Algorithm)
    return method


# --- method <-> text -----------------------------------------------------------


def written(method: Method) -> str:
    """A method as files have it, see `read_method`."""
    return key_of(method, METHODS) or repr(method)


def _read_own(
    kind: type[OwnPart], function: str, source: str = "", **more: Any
) -> OwnPart:
    """The part of a user's function that a file names.

    Raises:
        ValueError: there is none of that name, or its source has changed.
    """
    part = kind(**{kind.key: value_of(function)}, **more)
    if source and source != part.digest:
        raise ValueError(
            f"the source of {function} has changed since then; undo the change, or "
            "begin anew in another folder"
        )
    return part


_MORE_CALLS: dict[str, Any] = {
    **{one.maker: functools.partial(_read_own, one) for one in OWN_KINDS.values()},
    **{type(one).__name__: type(one) for one in OFFLINE_METHODS.values()},
}
"""What a method's repr may call, besides what makes the parts of algorithms."""


def read_method(text: str) -> Method:
    """The method of a name in METHODS, or of a repr such as
    `Algorithm(outcome(0.4), ftrl(step_size=0.5), LINEAR)`.

    Raises:
        ValueError: the text is neither.
    """
    if (name := text.lower()) in METHODS:
        return METHODS[name]
    if "(" not in text and ":" in text:
        return checked(value_of(text))
    if "(" not in text:
        known = [*METHODS, *SCHEDULES]
        hint = near_algorithms(text, known) or f" The names are {', '.join(known)}."
        raise ValueError(f"algorithm={text!r} is no known algorithm.{hint}")
    return checked(value_in(text, _MORE_CALLS))


# --- method -> words -----------------------------------------------------------


def name_of(method: Method) -> str:
    """What a method is called: its name in METHODS, a schedule with its numbers, or
    else the words of papers for it."""
    name = key_of(method, METHODS)
    if name is not None or not isinstance(method, Algorithm):
        return name or repr(method)
    schedule = schedule_of(method)
    if schedule is None or (method.alternating, method.batch) != (True, 1):
        return str(method)
    name, horizon, gamma = schedule
    return f"{name} (horizon {horizon}, gamma {gamma:g})"


def key_of(value: object, values: Mapping[str, object]) -> str | None:
    """The name of a value in a table of values, None if it is not there."""
    return next((name for name, one in values.items() if one == value), None)
