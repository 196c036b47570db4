"""Algorithms by name, and checks whether the parts of an algorithm can be combined."""

from collections.abc import Iterable
from typing import Any

from mccfr_spiel.algorithms import own_parts, rules
from mccfr_spiel.algorithms.algorithm import (
    ALGORITHMS,
    AUTO,
    MOST_BATCH,
    Algorithm,
    named_constants,
)
from mccfr_spiel.algorithms.averages import Averaging
from mccfr_spiel.algorithms.minimizer import Minimizer
from mccfr_spiel.algorithms.samplings import Sampling
from mccfr_spiel.common import refusals


def near_algorithms(name: str, known: Iterable[str]) -> str:
    """Returns the end of an error message with names similar to an unknown name.

    Args:
        name: the unknown name. "+" is read as "_plus". If it contains "mccfr", all
            known names that end with "_sampling" are suggested.
        known: the known names.
    """
    if "mccfr" in name.lower():
        family = (name for name in known if name.endswith("_sampling"))
        return f" Did you mean {' or '.join(sorted(family, key=len))}?"
    return refusals.near(name.replace("+", "_plus"), known)


def algorithm_of(given: Any) -> Algorithm:
    """Returns an algorithm, given as a value or by its name in ALGORITHMS.

    Raises:
        ValueError: the name is unknown, or `check_algorithm` fails.
    """
    if isinstance(given, str):
        if given.lower() not in ALGORITHMS:
            hint = near_algorithms(given, ALGORITHMS)
            raise ValueError(
                f"Unknown algorithm {given!r}. Expected one of "
                f"{', '.join(ALGORITHMS)}.{hint}"
            )
        return ALGORITHMS[given.lower()]
    check_algorithm(given)
    return given


def check_algorithm(algorithm: Any) -> None:
    """Checks that a value is an Algorithm, and that its parts can be combined.

    The fields of each part are not checked, because each part does this itself.

    Raises:
        ValueError: a part has the wrong type, or a combination is not possible.
    """
    if not isinstance(algorithm, Algorithm):
        raise ValueError(
            f"{algorithm!r} must be an Algorithm, such as one of "
            f"mccfr_spiel.algorithms: {', '.join(named_constants())}."
        )
    part_classes = {
        "sampling": Sampling,
        "minimizer": Minimizer,
        "averaging": Averaging,
    }
    for name, part_class in part_classes.items():
        part = getattr(algorithm, name)
        if not isinstance(part, part_class):
            maker = own_parts.OWN_KINDS[name].maker
            hint = f" Call it, or wrap your own function: {maker}(...)."
            expected = part_class.__name__
            raise ValueError(
                f"{name}={part!r} must be a {expected}.{hint * callable(part)}"
            )
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    if minimizer.moves_everywhere and (sampling.is_sampled or sampling.prune):
        raise ValueError(
            f"{minimizer.rule} moves the policy everywhere in each iteration, so it "
            f"does not work with {sampling}, which skips infosets. Use ms.FULL instead."
        )
    refusals.flag(algorithm.alternating, "alternating")
    batch = algorithm.batch
    if isinstance(batch, str) and batch != AUTO:
        raise ValueError(f'batch={batch!r} must be an integer or "{AUTO}".')
    if batch != AUTO and refusals.integer(batch, "batch", 1) > MOST_BATCH:
        raise ValueError(f"batch={batch} must be at most {MOST_BATCH}.")
    if batch != 1 and not algorithm.sampling.is_sampled:
        raise ValueError(
            f"batch={batch} requires a sampling: without it, all walks of a batch are "
            "the same. Drop the batch, or choose a sampling."
        )
    if sampling.prune_below is not None or sampling.prunes_by_regret:
        _check_can_prune(algorithm)
    if algorithm.sampling.baseline == "predictive" and not (
        batch == 1 and algorithm.alternating
    ):
        raise ValueError(
            'baseline="predictive" requires alternating updates and batch=1, because '
            "the baselines depend on the policy right after each update. Set "
            'baseline="learned" instead.'
        )


def _check_can_prune(algorithm: Algorithm) -> None:
    argument = 'prune="regret"'
    if algorithm.sampling.prune_below is not None:
        argument = f"prune_below={algorithm.sampling.prune_below:g}"
    if algorithm.minimizer.rule != rules.RegretMatching.rule:
        raise ValueError(
            f"{argument} requires regret_matching, because {algorithm.minimizer.rule} "
            "keeps no very negative regrets. Change the rule or drop the pruning."
        )
    if algorithm.batch != 1:
        raise ValueError(
            f"{argument} requires batch=1, not {algorithm.batch}, because the walks of "
            "a batch may skip different actions of an infoset. Drop one of the two."
        )
