"""Flags -> Settings: the only place where names become values.

The command line, settings.json and users of `named_settings` describe a run by names
and numbers without structure: `--sampling=outcome --epsilon=0.4`. `Flags` lists them;
`named_settings` makes the value, and `flags_of` goes back.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from mccfr_spiel import algorithms
from mccfr_spiel.algorithms import (
    RULES,
    SCHEDULES,
    Algorithm,
    Averaging,
    Minimizer,
    Sampling,
    check_algorithm,
)
from mccfr_spiel.experiments.algorithm_names import (
    AVERAGINGS,
    METHODS,
    MINIMIZERS,
    SAMPLING_PARAMETERS,
    SAMPLINGS,
    SETTING_OF_PARAMETER,
    Method,
    named,
    settings_of_method,
)
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.offline.methods import OfflineMethod
from mccfr_spiel.storage.results_folder import load_string


class Flags(TypedDict, total=False):
    """What a run may be told, by name; what is missing or None has its default.

    Keys without an explanation are the fields of `Settings`. The parts of an algorithm
    replace those of the one that `algorithm` names.

    Attributes:
        players: the game's parameter of that name, added to `game`.
        algorithm: a name in `algorithm_names.METHODS` or `algorithms.SCHEDULES`.
        horizon: of an algorithm in SCHEDULES; if not given, `iterations`.
        sampling: a name in SAMPLINGS, or the fields of a `Sampling`.
        epsilon: the exploration of outcome sampling, or the least probability of an
            action in average-strategy sampling, in (0, 1].
        threshold: of average-strategy sampling, see `Sampling`.
        bonus: of average-strategy sampling.
        prune_below: the regret below which external sampling mostly leaves out an
            action, below 0.
        baseline: of outcome and external sampling, "learned" or "predictive", see
            `Sampling`.
        baseline_rate: how quickly baselines move, in (0, 1].
        minimizer: a name in MINIMIZERS, or the `rule` and the fields of one.
        step_size: eta of rules with dilated entropy, such as ftrl, and of mirror_prox.
        weights: of the dilated entropy, "constant" or "kroer".
        random_initial_regrets: the regrets start at random between 0 and this.
        alpha, beta: the powers by which discounted and predictive rules discount.
        prediction: the weight of a predictive rule's prediction.
        temperature: of magnetic mirror descent.
        averaging: a name in AVERAGINGS, or the fields of an `Averaging`.
        gamma: iteration t has the weight t ** gamma in the average; in place of
            `averaging`. Of an algorithm in SCHEDULES, gamma in the first iteration.
        alternating: whether players are updated one after the other.
        batch: the walks for each player in an iteration, where something is sampled;
            a number, or "auto" for one that grows.
        method: of HiGHS in lp and sparsified_lp, a name in `linear_program.METHODS`.
        factorization: of sparsified_lp, in `linear_program.SPARSIFICATIONS`.
        time_limit: seconds for HiGHS.
    """

    game: str
    players: int | None
    algorithm: str
    sampling: str | dict | None
    epsilon: float | None
    threshold: float | None
    bonus: float | None
    prune_below: float | None
    baseline: str | None
    baseline_rate: float | None
    minimizer: str | dict | None
    step_size: float | None
    weights: str | None
    random_initial_regrets: float | None
    alpha: float | None
    beta: float | None
    prediction: float | None
    temperature: float | None
    averaging: str | dict | None
    gamma: float | None
    horizon: int | None
    alternating: bool | None
    batch: int | str | None
    iterations: int
    until_nodes_touched: int | None
    seed: int
    print_freq: int | None
    rows_per_decade: int
    rows_from: int
    keep_policies: int | None
    until_nash_conv: float | None
    evaluate: str
    evaluate_last: bool
    bounds: bool
    method: str | None
    factorization: str | None
    time_limit: float | None
    max_nodes: int
    max_memory: int | str | None
    twin: bool | None
    store: str
    allow_imperfect_recall: bool
    threads: int | None


KINDS: dict[str, Any] = typing.get_type_hints(Flags)
"""Flag -> its type, in the order in which files list them."""

_FIELDS = {field.name for field in dataclasses.fields(Settings)} - {"game", "algorithm"}
_ONLINE_PARTS = (
    "sampling",
    *SAMPLING_PARAMETERS,
    "minimizer",
    "step_size",
    "weights",
    "random_initial_regrets",
    "alpha",
    "beta",
    "prediction",
    "temperature",
    "averaging",
    "gamma",
    "horizon",
    "alternating",
    "batch",
)
_PARTS = (*_ONLINE_PARTS, "method", "factorization", "time_limit")

EXPERIMENT_FLAGS = (
    "seeds",
    "only",
    "executor",
    "workers",
    "ray_address",
    "tree_cache",
)
"""The flags that only --experiment takes, and a single run those of CLUSTER_FLAGS."""

CLUSTER_FLAGS = ("executor", "workers", "ray_address")
"""The flags that say where an experiment's settings run, or a single run's batches."""

COMPARISON_FLAGS = ("nodes", "metrics")
"""The flags that only `mccfr-spiel compare` has, as far as the library's errors name
them."""

CHANGEABLE = (
    "iterations",
    "until_nodes_touched",
    "until_nash_conv",
    "max_memory",
    "twin",
    "threads",
    "keep_policies",
)
"""The flags that may be others when a run is resumed."""


def named_settings(**flags: Unpack[Flags]) -> Settings:
    """The settings that names describe.

        named_settings(game="kuhn_poker", players=3, algorithm="cfr", sampling="chance")

    Raises:
        ValueError: a name is unknown, a number is out of range, or a parameter is given
            that the method does not have.
    """
    given: dict[str, Any] = {**flags}
    game = load_string(given.get("game", Settings().game), given.get("players"))
    parts = {name: given.get(name) for name in _PARTS}
    if given.get("algorithm") in SCHEDULES and parts["horizon"] is None:
        parts["horizon"] = _default_horizon(given)
    method = _make_method(given.get("algorithm", DEFAULT["algorithm"]), parts)
    fields = {name: given[name] for name in _FIELDS if name in given}
    return Settings(game, method, **fields)


def flags_of(settings: Settings) -> Flags:
    """All flags, with those set that describe the settings: the inverse of
    `named_settings`."""
    flags: dict[str, Any] = dict.fromkeys(KINDS)
    fields = dataclasses.fields(settings)
    flags |= {field.name: getattr(settings, field.name) for field in fields}
    flags |= settings_of_method(settings.algorithm)
    return typing.cast(Flags, flags)


def settled(flags: Flags) -> Flags:
    """The flags with the horizon that they imply, which --iterations may not change
    when a run is resumed."""
    if flags.get("algorithm") in SCHEDULES and flags.get("horizon") is None:
        return {**flags, "horizon": _default_horizon(flags)}
    return flags


def _default_horizon(given: Mapping[str, Any]) -> int:
    if given.get("until_nodes_touched") is not None:
        raise ValueError(
            f"algorithm={given['algorithm']} with until_nodes_touched="
            f"{given['until_nodes_touched']} needs a horizon: the number of iterations "
            "in the course of which its parameters change, such as horizon=1000."
        )
    return given.get("iterations", Settings().iterations)


DEFAULT: Mapping[str, Any] = types.MappingProxyType({**flags_of(Settings())})
"""What each flag is when it is not given."""


# --- parts of a method -----------------------------------------------------------


def _make_method(name: str, parts: dict[str, Any]) -> Method:
    """The named method with the parts that are not None in the place of its own."""
    method = _base_of(name, parts)
    if isinstance(method, OfflineMethod):
        return _make_offline(method, parts)
    for part in ("method", "factorization", "time_limit"):
        if parts[part] is not None:
            raise ValueError(
                f"{part}={parts[part]} is given, but {name} solves no linear program; "
                "drop it."
            )
    alternating, batch = parts["alternating"], parts["batch"]
    algorithm = Algorithm(
        _make_sampling(method.sampling, parts),
        _make_minimizer(method.minimizer, parts),
        _make_averaging(method.averaging, parts["averaging"], parts["gamma"]),
        method.alternating if alternating is None else alternating,
        method.batch if batch is None else batch,
    )
    check_algorithm(algorithm)
    return algorithm


def _base_of(name: str, parts: dict[str, Any]) -> Method:
    """The method of a name, made for the horizon if it has one.

    The horizon and gamma are then taken from the parts, as they are used up.
    """
    if name in SCHEDULES:
        horizon, gamma = parts.pop("horizon"), parts["gamma"]
        if parts["averaging"] is not None or gamma is None:
            return SCHEDULES[name](horizon)
        parts["gamma"] = None
        return SCHEDULES[name](horizon, gamma=gamma)
    if parts["horizon"] is not None:
        raise ValueError(
            f"horizon={parts['horizon']} is given, but {name} has none; choose "
            f"{_choices('algorithm', SCHEDULES)}, or drop it."
        )
    if name not in METHODS:
        known = ", ".join([*METHODS, *SCHEDULES])
        raise ValueError(f"algorithm={name!r} is none of {known}.")
    return METHODS[name]


def _make_offline(method: OfflineMethod, parts: dict[str, Any]) -> OfflineMethod:
    given = {name: value for name, value in parts.items() if value is not None}
    known = {field.name for field in dataclasses.fields(method)}
    for part, value in given.items():
        if part not in known:
            raise ValueError(
                f"{part}={value} is given, but {method.name} has none; drop it."
            )
    return method._replace(**given)


def _make_sampling(default: Sampling, parts: dict[str, Any]) -> Sampling:
    sampling, given = default, parts["sampling"]
    if isinstance(given, dict):
        sampling = _from_fields("sampling", Sampling, given)
    elif given is not None:
        sampling = named("sampling", given, SAMPLINGS)
    numbers = {name: parts[name] for name in SAMPLING_PARAMETERS}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    if "epsilon" in numbers and sampling.player not in ("epsilon", "average"):
        raise ValueError(
            f"epsilon={numbers['epsilon']} is given, but only outcome sampling "
            "explores with epsilon, and average-strategy sampling has one; choose "
            "sampling=outcome or sampling=average_strategy, or drop epsilon."
        )
    return sampling._replace(**numbers)


def _make_minimizer(default: Minimizer, parts: dict[str, Any]) -> Minimizer:
    minimizer, given = default, parts["minimizer"]
    if isinstance(given, dict):
        fields = {name: value for name, value in given.items() if name != "rule"}
        kind = named("minimizer", str(given.get("rule")), RULES)
        minimizer = _from_fields("minimizer", kind, fields)
    elif given is not None:
        minimizer = named("minimizer", given, MINIMIZERS)
    changes = {
        parameter: parts[setting]
        for parameter, setting in SETTING_OF_PARAMETER.items()
        if parts[setting] is not None
    }
    _check_parameters(minimizer, changes)
    try:
        return minimizer._replace(**changes)
    except ValueError as error:  # it calls the parameters by their own names
        words = str(error)
        for parameter, setting in SETTING_OF_PARAMETER.items():
            words = re.sub(rf"\b{parameter}=", f"{setting}=", words)
        raise ValueError(words) from error


def _check_parameters(minimizer: Minimizer, given: dict[str, Any]) -> None:
    """Raises ValueError if a parameter is given that the rule does not have."""
    fields = minimizer._asdict().keys()
    for parameter in SETTING_OF_PARAMETER.keys() & given.keys() - fields:
        setting = SETTING_OF_PARAMETER[parameter]
        having = [
            name for name, one in MINIMIZERS.items() if parameter in one._asdict()
        ]
        raise ValueError(
            f"{setting}={given[parameter]} is given, but {minimizer.rule} has none; "
            f"choose {_choices('minimizer', having)}, or drop it."
        )


def _choices(flag: str, names: Iterable[str]) -> str:
    """`flag=one or flag=other`."""
    words = [f"{flag}={name}" for name in names]
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _make_averaging(
    default: Averaging, given: str | dict | None, gamma: float | None
) -> Averaging:
    if gamma is not None:
        if given is not None:
            raise ValueError(
                f"averaging={given} and gamma={gamma} both say how iterations weigh in "
                "the average; drop one."
            )
        return algorithms.polynomial(gamma)
    if isinstance(given, dict):
        return _from_fields("averaging", Averaging, given)
    return default if given is None else named("averaging", given, AVERAGINGS)


def _from_fields(kind: str, make: Any, fields: dict[str, Any]) -> Any:
    """A part made of its fields, as a file has them."""
    try:
        return make(**fields)
    except TypeError as error:
        raise ValueError(f"{kind}={fields} is not a {kind}: {error}") from error
