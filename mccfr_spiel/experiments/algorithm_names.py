"""Names for algorithms: how settings, folders, legends and files call them.

A *method* here is anything that solves a game: an `Algorithm`, which `Solver` runs, or
an `OfflineMethod`. Its name and its parts come from the value alone, so two settings
that run the same thing agree on what it is called.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import (
    ALGORITHMS,
    RULES,
    Algorithm,
    Averaging,
    Minimizer,
    OwnRule,
    Sampling,
    check_algorithm,
    schedule_of,
)
from mccfr_spiel.offline.methods import OFFLINE_METHODS, OfflineMethod

Method = Algorithm | OfflineMethod

T = TypeVar("T")

METHODS: dict[str, Method] = {**ALGORITHMS, **OFFLINE_METHODS}
"""Everything that has a name of its own."""

SAMPLINGS = {
    "full": algorithms.FULL,
    "pruned": algorithms.full(prune=True),
    "pruned_by_regret": algorithms.full(prune="regret"),
    "chance": algorithms.CHANCE,
    "opponent": algorithms.OPPONENT,
    "external": algorithms.EXTERNAL,
    "outcome": algorithms.OUTCOME,
    "balanced_outcome": algorithms.BALANCED_OUTCOME,
    "average_strategy": algorithms.AVERAGE_STRATEGY,
}
"""The estimators, as settings call them."""

SAMPLING_PARAMETERS = (
    "epsilon",
    "threshold",
    "bonus",
    "prune_below",
    "baseline",
    "baseline_rate",
)
"""The parameters of an estimator that are settings of their own."""


def _has_step_size(kind: type[Minimizer]) -> bool:
    return any(field.name == "step_size" for field in dataclasses.fields(kind))


MINIMIZERS: dict[str, Minimizer] = {
    name: kind(**{"step_size": 1.0} if _has_step_size(kind) else {})
    for name, kind in RULES.items()
}
"""The local rules with their default parameters; the step size is 1."""

AVERAGINGS = {
    "uniform": algorithms.UNIFORM,
    "linear": algorithms.LINEAR,
    "quadratic": algorithms.QUADRATIC,
}
"""The averages, as settings call them."""

SETTING_OF_PARAMETER = {
    "step_size": "step_size",
    "weights": "weights",
    "initial_regret": "random_initial_regrets",
    "alpha": "alpha",
    "beta": "beta",
    "prediction": "prediction",
    "temperature": "temperature",
}
"""The parameters of rules that are settings of their own, and what they are called."""


# --- names ---------------------------------------------------------------------


def name_of(method: Method) -> str:
    """A word that says what a method is, such as `outcome_ftrl_step_size=0.5`.

    A method in `METHODS` has its name there, one of SCHEDULES has its horizon and gamma
    behind it. Any other algorithm is called after one with the same sampling and
    minimizer if there is one, or else after these two parts; what differs from their
    defaults follows.
    """
    if isinstance(method, OfflineMethod):
        parts = method.parameters
        parts.pop("time_limit", None)  # it says when to give up, not what is run
        return "_".join([method.name, *_words(parts)])
    alike = [name for name, one in ALGORITHMS.items() if one[:2] == method[:2]]
    same = [name for name in alike if ALGORITHMS[name] == method]
    schedule = schedule_of(method)
    if same:
        return same[0]
    if schedule is not None:
        name, horizon, gamma = schedule
        words = [name, f"horizon={horizon}", f"gamma={_digits(gamma)}"]
        base = method._replace(alternating=True)
    elif alike:
        base, words = ALGORITHMS[alike[0]], [alike[0]]
    else:
        base = Algorithm(method.sampling, method.minimizer)
        words = _words_of_two_parts(method.sampling, method.minimizer)
    if method.averaging != base.averaging:
        words.append(_averaging_name(method.averaging))
    if method.alternating != base.alternating:
        words.append("alternating" if method.alternating else "simultaneous")
    if method.batch != base.batch:
        words.append(f"batch={method.batch}")
    return "_".join(words)


def parts_of(method: Method) -> dict[str, Any]:
    """The name of a method, and setting -> value for every part that it has."""
    name = {"name": name_of(method)}
    if isinstance(method, OfflineMethod):
        return name | method.parameters
    sampling, minimizer, averaging, alternating, batch = method
    parts: dict[str, Any] = {"sampling": _sampling_name(sampling)}
    parts |= sampling_parameters(sampling)
    parts["minimizer"] = minimizer.rule
    parts |= rule_settings(minimizer)
    parts |= {"averaging": _averaging_name(averaging), "alternating": alternating}
    if batch != 1:
        parts["batch"] = batch
    return name | parts


def sampling_parameters(sampling: Sampling) -> dict[str, Any]:
    """The numbers that an estimator goes by, by the names of settings."""
    known = {"epsilon": ("epsilon",), "average": ("epsilon", "threshold", "bonus")}
    found = {name: getattr(sampling, name) for name in known.get(sampling.player, ())}
    if sampling.prune_below is not None:
        found["prune_below"] = sampling.prune_below
    if sampling.baseline:
        found["baseline"] = sampling.baseline
        if sampling.baseline_rate != Sampling.baseline_rate:
            found["baseline_rate"] = sampling.baseline_rate
    return found


_USUAL = {"epsilon": algorithms.OUTCOME, "average": algorithms.AVERAGE_STRATEGY}
"""Where the numbers of an estimator without a name have their defaults."""


def _like(sampling: Sampling) -> tuple[str | None, dict[str, Any]]:
    """The name in SAMPLINGS of an estimator that differs in numbers at most, None if
    there is none, and the numbers that are not the usual ones."""
    mine = sampling_parameters(sampling)
    fields = sampling._asdict()
    names = (k for k, one in SAMPLINGS.items() if one._asdict() | mine == fields)
    name = next(names, None)
    usual = _USUAL.get(sampling.player, sampling) if name is None else SAMPLINGS[name]
    theirs = sampling_parameters(usual)
    return name, {k: v for k, v in mine.items() if v != theirs.get(k)}


def rule_settings(minimizer: Minimizer) -> dict[str, Any]:
    """The parameters of a rule by the names of settings, without regrets that start at
    0, as they do by default."""
    return {
        SETTING_OF_PARAMETER.get(name, name): value
        for name, value in minimizer._asdict().items()
        if name != "initial_regret" or value
    }


def _words_of_two_parts(sampling: Sampling, minimizer: Minimizer) -> list[str]:
    words = [_sampling_name(sampling), *_words(_like(sampling)[1])]
    default = MINIMIZERS.get(minimizer.rule)
    defaults = {} if default is None else rule_settings(default)
    changed = {
        name: value
        for name, value in rule_settings(minimizer).items()
        if value != defaults.get(name)
    }
    return [*words, minimizer.rule, *_words(changed)]


def _words(parts: Mapping[str, Any]) -> list[str]:
    """Words for parts: strings stand for themselves, other values need their names."""
    return [
        value if isinstance(value, str) else f"{name}={_digits(value)}"
        for name, value in parts.items()
    ]


def _digits(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)


def _sampling_name(sampling: Sampling) -> str:
    """A name in SAMPLINGS, whatever the numbers are, or else what is sampled, in
    words."""
    name, _ = _like(sampling)
    if name is not None:
        return name
    words = {
        "chance": sampling.chance,
        "opponents": sampling.opponents,
        sampling.player: sampling.player != "all",
        "pruned": sampling.prune,
    }
    return "+".join(word for word, is_so in words.items() if is_so)


def _averaging_name(averaging: Averaging) -> str:
    name = key_of(averaging, AVERAGINGS) or f"gamma={averaging.gamma:.12g}"
    if averaging.change:
        change = f"change={averaging.change:.12g}"
        name = f"{name}_{change}_horizon={averaging.horizon}"
    return name


def key_of(value: object, values: Mapping[str, object]) -> str | None:
    """The name of a value in a table of values, None if it is not there."""
    return next((name for name, one in values.items() if one == value), None)


# --- parts as JSON -----------------------------------------------------------------


def settings_of_method(method: Method) -> dict[str, Any]:
    """Setting -> value as JSON has it, as few as say which method it is.

    They are `algorithm`, a name in METHODS, and the parts in which the method differs
    from the one of that name. A part without a name, such as an average with weights
    t ** 1.5, is given as the dictionary of its fields. flags.py makes the same method
    of these settings.
    """
    if isinstance(method, OfflineMethod):
        return {"algorithm": method.name} | method.parameters
    alike = [name for name, one in ALGORITHMS.items() if one[:2] == method[:2]]
    same = [name for name in alike if ALGORITHMS[name] == method]
    name = [*same, *alike, "external_sampling"][0]
    base = ALGORITHMS[name]
    found: dict[str, Any] = {"algorithm": name}
    schedule = schedule_of(method)
    if schedule is not None and not same:
        name, horizon, gamma = schedule
        found = {"algorithm": name, "horizon": horizon, "gamma": gamma}
        base = method._replace(alternating=True)
    if method.sampling != base.sampling:
        found |= _sampling_settings(method.sampling)
    if method.minimizer != base.minimizer:
        found |= _minimizer_settings(method.minimizer)
    if method.averaging != base.averaging:
        found |= _averaging_settings(method.averaging)
    if method.alternating != base.alternating:
        found["alternating"] = method.alternating
    if method.batch != base.batch:
        found["batch"] = method.batch
    return found


def _sampling_settings(sampling: Sampling) -> dict[str, Any]:
    name, numbers = _like(sampling)
    if name is None:
        return {"sampling": sampling._asdict()}
    return {"sampling": name} | numbers


def _minimizer_settings(minimizer: Minimizer) -> dict[str, Any]:
    rule, parameters = minimizer.rule, minimizer._asdict()
    default = MINIMIZERS[rule]._asdict() if rule in MINIMIZERS else {}
    others = parameters.keys() - SETTING_OF_PARAMETER.keys()
    if default and all(parameters[name] == default[name] for name in others):
        named_ones = rule_settings(minimizer).items()
        kept = {name: value for name, value in named_ones if name not in others}
        return {"minimizer": rule} | kept
    return {"minimizer": {"rule": rule} | parameters}


def _averaging_settings(averaging: Averaging) -> dict[str, Any]:
    name = key_of(averaging, AVERAGINGS)
    if name is not None:
        return {"averaging": name}
    if averaging.change:
        return {"averaging": averaging._asdict()}
    return {"gamma": averaging.gamma}


def checked(method: object) -> Method:
    """The method itself, or the one of that name in METHODS.

    Raises:
        ValueError: it is neither a method that can be run nor the name of one.
    """
    if isinstance(method, str):
        return named("algorithm", method, METHODS)
    if isinstance(method, OfflineMethod):
        return method
    check_algorithm(method)
    assert isinstance(method, Algorithm)
    if isinstance(method.minimizer, OwnRule):
        raise ValueError(
            f"{method.minimizer.name} is a function, which the files of a run cannot "
            "hold. Run it with ms.Solver(game, algorithm)."
        )
    return method


def named(kind: str, name: str, values: Mapping[str, T]) -> T:
    """The value of a name; raises ValueError if there is none."""
    if name not in values:
        raise ValueError(f"{kind}={name!r} is none of {', '.join(values)}.")
    return values[name]
