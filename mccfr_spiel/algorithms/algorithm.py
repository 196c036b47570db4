"""The class Algorithm, and the named algorithms."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from mccfr_spiel.algorithms import averages, part, rules, samplings
from mccfr_spiel.algorithms.minimizer import Minimizer
from mccfr_spiel.common import refusals

AUTO = "auto"
"""Value of `batch` for a batch that grows with the iterations."""

MOST_BATCH = 2**31
"""Maximum number of walks in a batch. This number of walks takes minutes."""


class _Parts(NamedTuple):
    sampling: samplings.Sampling
    minimizer: Minimizer
    averaging: averages.Averaging = averages.UNIFORM
    alternating: bool = True
    batch: int | Literal["auto"] = 1


class Algorithm(_Parts):
    """An algorithm: sampling, local rule, average, order of updates, and batch size.

    Attributes:
        sampling: which moves walks sample, that is, the estimator of the gradient.
        minimizer: the local rule, which updates the policy at each infoset.
        averaging: weights of the iterations in the average policy.
        alternating: whether players are updated in turn, each against the newest
            policies of the other players. Otherwise all players are updated at once,
            against the policies of the previous iteration.
        batch: number of walks per player and iteration; 1 if nothing is sampled. The
            policies stay the same during the walks of a batch, and one update uses the
            sum of their estimates. For a fixed batch, the weight of an iteration in the
            average does not depend on the batch. With "auto", the batch is the largest
            power of two that is at most 1/64 of the number of iterations so far, and at
            most 4096; the weight of an iteration is multiplied by its number of walks.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __new__(cls, *parts: Any, **fields: Any) -> Self:
            """Raises TypeError with an explanation if the local rule is missing."""
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
        """The name in papers, such as `CFR+`, or a description of the parts, such as
        `external sampling with FTRL (step size 1)`."""
        names = [str(self.sampling)]
        published = {
            name: value
            for name, value in named_constants().items()
            if name.endswith(("CFR", "CFR_PLUS")) and value[:3] == self[:3]
        }
        # Algorithms without sampling have published names, such as CFR+ and DCFR.
        # Algorithms with sampling are named after the sampling.
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
"""CFR with alternating updates (Zinkevich, Johanson, Bowling, Piccione 2007)."""
PRUNED_CFR = Algorithm(samplings.full(prune=True), rules.regret_matching())
"""CFR that skips opponents' actions of probability 0 (Lanctot et al. 2009, section 5).
"""
CFR_PLUS = Algorithm(samplings.FULL, rules.regret_matching_plus(), averages.LINEAR)
"""CFR+ (Tammelin 2014)."""
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
"""DCFR+: CFR+ with discounted regrets (Xu et al. 2024)."""
PDCFR_PLUS = Algorithm(
    samplings.FULL,
    rules.predictive_regret_matching_plus(alpha=2.3),
    averages.polynomial(5.0),
)
"""PDCFR+: predictive CFR+ with discounted regrets (Xu et al. 2024)."""
SAPCFR_PLUS = Algorithm(
    samplings.FULL, rules.predictive_regret_matching_plus(1 / 3), averages.QUADRATIC
)
"""Predictive CFR+ in which the prediction has the weight 1/3 (Meng et al. 2025)."""
CHANCE_SAMPLING = Algorithm(samplings.CHANCE, rules.regret_matching())
"""CFR that samples chance (Zinkevich et al. 2007; Lanctot et al. 2009, section 3)."""
CHANCE_SAMPLING_QUASI = Algorithm(
    samplings.CHANCE._replace(chance_draws="sobol"), rules.regret_matching()
)
"""Chance sampling with chance drawn from a Sobol sequence, as in quasi-Monte Carlo."""
OPPONENT_SAMPLING = Algorithm(samplings.OPPONENT, rules.regret_matching())
"""CFR that samples the other players (Farina, Kroer, Sandholm 2020)."""
EXTERNAL_SAMPLING = Algorithm(samplings.EXTERNAL, rules.regret_matching())
"""CFR that samples chance and the other players (Lanctot, Waugh, Zinkevich, Bowling
2009, section 3.2)."""
EXTERNAL_SAMPLING_QUASI = Algorithm(
    samplings.external(chance_draws="sobol"), rules.regret_matching()
)
"""External sampling with chance drawn from a Sobol sequence over the walks.

Similar to Li, Chen, Huang 2026, who draw with a counter per chance node."""
OUTCOME_SAMPLING = Algorithm(samplings.OUTCOME, rules.regret_matching())
"""CFR whose walks sample a single history (Lanctot, Waugh, Zinkevich, Bowling 2009,
section 3.1)."""
BALANCED_OUTCOME_SAMPLING = Algorithm(
    samplings.BALANCED_OUTCOME, rules.regret_matching()
)
"""Outcome sampling with the balanced strategy (Farina, Kroer, Sandholm 2020, section
4.2.1)."""
AVERAGE_STRATEGY_SAMPLING = Algorithm(
    samplings.AVERAGE_STRATEGY, rules.regret_matching()
)
"""External sampling that also samples subsets of the updated player's actions (Gibson,
Burch, Lanctot, Szafron 2012)."""


def hs_dcfr(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """DCFR with a schedule of hyperparameters (Zhang, McAleer, Sandholm 2024).

    From the first iteration to the horizon, alpha rises from 1 to 4, beta falls from -1
    to -3, and gamma falls by 5, but not below 0.

    Args:
        horizon: number of iterations that you plan to run, at least 1.
        gamma: exponent of the weights of the average in the first iteration.
    """
    rule = rules.discounted_regret_matching(
        1.0, -1.0, alpha_change=3.0, beta_change=-2.0, horizon=horizon
    )
    return Algorithm(samplings.FULL, rule, _falling(gamma, horizon))


def hs_pcfr_plus(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """PCFR+ with a schedule for the average (Zhang, McAleer, Sandholm 2024).

    Args:
        horizon: number of iterations that you plan to run, at least 1.
        gamma: exponent of the weights of the average in the first iteration. It falls
            by 5 until the horizon, but not below 0.
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
"""Name on the command line -> function that makes an algorithm with a horizon.

The arguments of the functions are the horizon and, optionally, `gamma`.
"""


def schedule_of(algorithm: Algorithm) -> tuple[str, int, float] | None:
    """Returns the arguments from which a function in SCHEDULES makes an algorithm.

    The fields `alternating` and `batch` of the algorithm are ignored.

    Returns:
        The name in SCHEDULES, the horizon, and gamma; None if no function in SCHEDULES
        makes this algorithm.
    """
    averaging = algorithm.averaging
    horizon = averaging.horizon or getattr(algorithm.minimizer, "horizon", 0)
    for name, make in SCHEDULES.items():
        if horizon and make(horizon, gamma=averaging.gamma)[:3] == algorithm[:3]:
            return name, horizon, averaging.gamma
    return None


def named_constants() -> dict[str, Algorithm]:
    """Returns the named algorithms of this module: name of the constant -> value."""
    members = globals().items()
    return {name: value for name, value in members if isinstance(value, Algorithm)}


ALGORITHMS = {name.lower(): value for name, value in named_constants().items()} | {
    "ftrl": Algorithm(samplings.EXTERNAL, rules.ftrl(1.0)),
    "omd": Algorithm(samplings.EXTERNAL, rules.omd(1.0)),
}
"""Name on the command line -> algorithm."""
