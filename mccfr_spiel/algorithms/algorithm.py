"""The class Algorithm, and the named algorithms."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from mccfr_spiel.algorithms import averages, part, rules, samplings
from mccfr_spiel.algorithms.minimizer import Minimizer
from mccfr_spiel.common import refusals

AUTO = "auto"
"""A batch that grows with the iterations."""

MOST_BATCH = 2**31
"""Maximum batch. So many walks take minutes."""


class _Parts(NamedTuple):
    sampling: samplings.Sampling
    minimizer: Minimizer
    averaging: averages.Averaging = averages.UNIFORM
    alternating: bool = True
    batch: int | Literal["auto"] = 1


class Algorithm(_Parts):
    """What a solver runs: sampling, local rule, average, and order of updates.

    Attributes:
        sampling: the gradient estimator.
        minimizer: the local rule.
        averaging: weights of the iterations in the average.
        alternating: True updates players in turns, each against the newest policies of
            the others. False updates all players at once, against the same policies.
        batch: walks per player and iteration, if anything is sampled. All walks sample
            against the same policies, and one update uses the sum of their estimates.
            An iteration has the same weight in the average for any fixed batch. "auto":
            the batch grows to the largest power of two that is at most 1/64 of the
            iterations, and at most 4096. Then the weight of an iteration is multiplied
            by the number of walks.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __new__(cls, *parts: Any, **fields: Any) -> Self:
            """Explains what is missing if only a sampling is given."""
            if len(parts) < 2 and "minimizer" not in fields:
                first = repr(parts[0]) if parts else "ms.EXTERNAL"
                raise TypeError(
                    "An algorithm requires a sampling and a rule, as in "
                    f"ms.Algorithm({first}, ms.regret_matching())."
                )
            return super().__new__(cls, *parts, **fields)

    def __repr__(self) -> str:
        shown = [repr(self.sampling), repr(self.minimizer)]
        if self.averaging != averages.UNIFORM:
            shown.append(repr(self.averaging))
        if not self.alternating:
            shown.append("alternating=False")
        if self.batch != 1:
            shown.append(f"batch={part.written(self.batch)}")
        return f"Algorithm({', '.join(shown)})"

    def __str__(self) -> str:
        """The name in papers: `CFR+`, `external sampling with FTRL (step size 1)`."""
        names = [str(self.sampling)]
        published = {
            name: value
            for name, value in named_constants().items()
            if name.endswith(("CFR", "CFR_PLUS")) and value[:3] == self[:3]
        }
        # The algorithms without sampling have names of their own: CFR+, DCFR.
        if published and "PRUNED_CFR" not in published:
            names = [next(iter(published)).replace("_PLUS", "+")]
        else:
            if self.minimizer != rules.RegretMatching():
                names[0] += f" with {self.minimizer}"
            if self.averaging != averages.UNIFORM:
                names.append(str(self.averaging))
        if not self.alternating:
            names.append("simultaneous updates")
        if self.batch != 1:
            names.append(
                "growing batches" if self.batch == AUTO else f"{self.batch} walks"
            )
        return ", ".join(names)


CFR = Algorithm(samplings.FULL, rules.regret_matching())
"""Zinkevich, Johanson, Bowling, Piccione 2007, alternating."""
PRUNED_CFR = Algorithm(samplings.full(prune=True), rules.regret_matching())
"""CFR that skips opponents' actions of probability 0 (Lanctot et al. 2009, section 5).
"""
CFR_PLUS = Algorithm(samplings.FULL, rules.regret_matching_plus(), averages.LINEAR)
"""Tammelin 2014."""
LCFR = Algorithm(
    samplings.FULL, rules.discounted_regret_matching(1.0, 1.0), averages.LINEAR
)
"""Linear CFR (Brown, Sandholm 2019)."""
DCFR = Algorithm(
    samplings.FULL, rules.discounted_regret_matching(1.5, 0.0), averages.QUADRATIC
)
"""Discounted CFR with (alpha, beta, gamma) = (1.5, 0, 2) (Brown, Sandholm 2019)."""
PCFR_PLUS = Algorithm(
    samplings.FULL, rules.predictive_regret_matching_plus(), averages.QUADRATIC
)
"""Predictive CFR+ (Farina, Kroer, Sandholm 2021)."""
DCFR_PLUS = Algorithm(
    samplings.FULL,
    rules.predictive_regret_matching_plus(0.0, alpha=1.5, offset=1.5),
    averages.polynomial(4.0),
)
"""DCFR+ (Xu et al. 2024)."""
PDCFR_PLUS = Algorithm(
    samplings.FULL,
    rules.predictive_regret_matching_plus(alpha=2.3),
    averages.polynomial(5.0),
)
"""PDCFR+ (Xu et al. 2024)."""
SAPCFR_PLUS = Algorithm(
    samplings.FULL, rules.predictive_regret_matching_plus(1 / 3), averages.QUADRATIC
)
"""PCFR+ with a prediction of weight 1/3 (Meng et al. 2025)."""
CHANCE_SAMPLING = Algorithm(samplings.CHANCE, rules.regret_matching())
"""Zinkevich et al. 2007; Lanctot et al. 2009, section 3."""
OPPONENT_SAMPLING = Algorithm(samplings.OPPONENT, rules.regret_matching())
"""Farina, Kroer, Sandholm 2020, with regret matching."""
EXTERNAL_SAMPLING = Algorithm(samplings.EXTERNAL, rules.regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.2."""
OUTCOME_SAMPLING = Algorithm(samplings.OUTCOME, rules.regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.1."""
BALANCED_OUTCOME_SAMPLING = Algorithm(
    samplings.BALANCED_OUTCOME, rules.regret_matching()
)
"""Farina, Kroer, Sandholm 2020, section 4.2.1, with regret matching."""
AVERAGE_STRATEGY_SAMPLING = Algorithm(
    samplings.AVERAGE_STRATEGY, rules.regret_matching()
)
"""Gibson, Burch, Lanctot, Szafron 2012."""


def hs_dcfr(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """DCFR with a schedule of hyperparameters (Zhang, McAleer, Sandholm 2024).

    Alpha moves from 1 to 4, beta from -1 to -3, and gamma decreases by 5 (at most to
    0).

    Args:
        horizon: number of iterations that you plan to run, at least 1.
        gamma: gamma of the average in the first iteration.
    """
    rule = rules.discounted_regret_matching(
        1.0, -1.0, alpha_change=3.0, beta_change=-2.0, horizon=horizon
    )
    return Algorithm(samplings.FULL, rule, _falling(gamma, horizon))


def hs_pcfr_plus(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """PCFR+ with a schedule for the average (Zhang, McAleer, Sandholm 2024).

    Args:
        horizon: number of iterations that you plan to run, at least 1.
        gamma: gamma of the average in the first iteration; decreases by 5 (at most to
            0).
    """
    return Algorithm(
        samplings.FULL,
        rules.predictive_regret_matching_plus(),
        _falling(gamma, horizon),
    )


def _falling(gamma: float, horizon: int) -> averages.Averaging:
    gamma = refusals.number(gamma, "gamma", 0, averages.MOST_GAMMA)
    if refusals.integer(horizon, "horizon", 1) and not gamma:
        return averages.UNIFORM
    return averages.Averaging(gamma, -min(gamma, 5.0), horizon)


SCHEDULES: dict[str, Callable[..., Algorithm]] = {
    "hs_dcfr": hs_dcfr,
    "hs_pcfr_plus": hs_pcfr_plus,
}
"""Algorithms that depend on a horizon, by their names on the command line.

The functions take the horizon, and optionally `gamma`.
"""


def schedule_of(algorithm: Algorithm) -> tuple[str, int, float] | None:
    """Returns the name in SCHEDULES, the horizon and the gamma of an algorithm.

    `alternating` and `batch` are ignored. Returns None if there is no such schedule.
    """
    averaging = algorithm.averaging
    horizon = averaging.horizon or getattr(algorithm.minimizer, "horizon", 0)
    for name, make in SCHEDULES.items():
        if horizon and make(horizon, gamma=averaging.gamma)[:3] == algorithm[:3]:
            return name, horizon, averaging.gamma
    return None


def named_constants() -> dict[str, Algorithm]:
    """Returns the named algorithms of this module."""
    members = globals().items()
    return {name: value for name, value in members if isinstance(value, Algorithm)}


ALGORITHMS = {name.lower(): value for name, value in named_constants().items()} | {
    "ftrl": Algorithm(samplings.EXTERNAL, rules.ftrl(1.0)),
    "omd": Algorithm(samplings.EXTERNAL, rules.omd(1.0)),
}
"""The named algorithms, by their names on the command line."""
