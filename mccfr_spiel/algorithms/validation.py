"""Checks of whole algorithms, and algorithms by name."""

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
    """`refusals.near` of names of algorithms. MCCFR is a family, and + is a word."""
    if "mccfr" in name.lower():
        family = (one for one in known if one.endswith("_sampling"))
        return f" Did you mean {' or '.join(sorted(family, key=len))}?"
    return refusals.near(name.replace("+", "_plus"), known)


def algorithm_of(given: Any) -> Algorithm:
    """The algorithm that is given, or the one of a name in ALGORITHMS.

    Raises:
        ValueError: there is none of that name, or the parts do not go together.
    """
    if isinstance(given, str):
        if given.lower() not in ALGORITHMS:
            hint = near_algorithms(given, ALGORITHMS)
            raise ValueError(
                f"{given!r} is none of {', '.join(ALGORITHMS)}, the algorithms of "
                f"Solver.{hint}"
            )
        return ALGORITHMS[given.lower()]
    check_algorithm(given)
    return given


def check_algorithm(algorithm: Any) -> None:
    """Raises ValueError unless a value is an Algorithm of three parts.

    The parts have checked themselves when they were made.
    """
    if not isinstance(algorithm, Algorithm):
        raise ValueError(
            f"{algorithm!r} is not an Algorithm. The named ones are "
            f"{', '.join(f'ms.{name}' for name in named_constants())} "
            "(ms is mccfr_spiel)."
        )
    kinds = {"sampling": Sampling, "minimizer": Minimizer, "averaging": Averaging}
    for name, kind in kinds.items():
        part = getattr(algorithm, name)
        if not isinstance(part, kind):
            own = own_parts.OWN_KINDS[name].maker
            how = f" Call it; if it is yours, give {own}(...) of it."
            raise ValueError(
                f"{part!r} is not a value of {kind.__name__}.{how * callable(part)}"
            )
    sampling, minimizer = algorithm.sampling, algorithm.minimizer
    if minimizer.moves_everywhere and (sampling.is_sampled or sampling.prune):
        raise ValueError(
            f"{minimizer.rule} moves the policy everywhere in each iteration, and a "
            "walk that samples or prunes does not come everywhere. Use it with "
            f"ms.FULL, not with {sampling}."
        )
    refusals.flag(algorithm.alternating, "alternating")
    batch = algorithm.batch
    if isinstance(batch, str) and batch != AUTO:
        raise ValueError(f'batch={batch!r} is neither an integer nor "{AUTO}".')
    if batch != AUTO and refusals.integer(batch, "batch", 1) > MOST_BATCH:
        raise ValueError(f"batch={batch} is above {MOST_BATCH}.")
    if batch != 1 and not algorithm.sampling.is_sampled:
        raise ValueError(
            f"batch={batch} is given, but nothing is sampled, so that all walks of a "
            "batch would be the same; drop it, or choose a sampling."
        )
    if sampling.prune_below is not None or sampling.prunes_by_regret:
        _check_can_prune(algorithm)
    if algorithm.sampling.baseline == "predictive" and not (
        batch == 1 and algorithm.alternating
    ):
        raise ValueError(
            'baseline="predictive" goes by the policy right after the update of the '
            "walk's player, which takes alternating updates and a batch of 1; choose "
            'baseline="learned".'
        )


def _check_can_prune(algorithm: Algorithm) -> None:
    given = 'prune="regret" is given, but'
    if algorithm.sampling.prune_below is not None:
        given = f"prune_below={algorithm.sampling.prune_below:g} is given, but"
    if algorithm.minimizer.rule != rules.RegretMatching.rule:
        raise ValueError(
            f"{given} {algorithm.minimizer.rule} keeps no regrets that become very "
            "negative; choose regret_matching or drop it."
        )
    if algorithm.batch != 1:
        raise ValueError(
            f"{given} the walks of a batch ({algorithm.batch}) may leave out different "
            "actions at an infoset, whose regrets then do not add up; drop one of them."
        )
