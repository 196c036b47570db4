"""An algorithm as a value of three parts, and the algorithms that have names."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from mccfr_spiel.algorithms import averages, part, rules, samplings
from mccfr_spiel.algorithms.averages import UNIFORM, Averaging
from mccfr_spiel.algorithms.minimizer import Minimizer
from mccfr_spiel.algorithms.samplings import FULL, Sampling
from mccfr_spiel.common import refusals

AUTO = "auto"
"""A batch that grows with the iterations."""

MOST_BATCH = 2**31
"""That many walks take minutes."""


class _Parts(NamedTuple):
    sampling: Sampling
    minimizer: Minimizer
    averaging: Averaging = UNIFORM
    alternating: bool = True
    batch: int | Literal["auto"] = 1


class Algorithm(_Parts):
    """A solver's three parts, whether players move one after the other, and the batch.

    Attributes:
        sampling: the gradient estimator.
        minimizer: the local rule.
        averaging: the weights of the average.
        alternating: each player is updated against the others' newest policies; else
            all are updated at once from the same ones.
        batch: the walks for each player in an iteration, if anything is sampled. All of
            them meet the same policies; what they estimate is added up before the one
            update. The iteration enters the average once, whatever its batch. "auto"
            has a batch grow with the iterations: to the largest power of two that is at
            most 1/64 of their number, and 4096. An iteration then enters the average as
            often as it has walks, besides the weight that averaging gives it.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __new__(cls, *parts: Any, **more: Any) -> Self:
            """Says what is missing where only a sampling is given."""
            if len(parts) < 2 and "minimizer" not in more:
                first = repr(parts[0]) if parts else "ms.EXTERNAL"
                raise TypeError(
                    "An algorithm has a sampling and a rule, as in "
                    f"ms.Algorithm({first}, ms.regret_matching())."
                )
            return super().__new__(cls, *parts, **more)

    def __repr__(self) -> str:
        shown = [repr(self.sampling), repr(self.minimizer)]
        if self.averaging != UNIFORM:
            shown.append(repr(self.averaging))
        if not self.alternating:
            shown.append("alternating=False")
        if self.batch != 1:
            shown.append(f"batch={part.written(self.batch)}")
        return f"Algorithm({', '.join(shown)})"

    def __str__(self) -> str:
        """What papers call it: `CFR+`, `external sampling with FTRL (step size 1)`."""
        words = [str(self.sampling)]
        known = {
            name: value
            for name, value in named_constants().items()
            if name.endswith(("CFR", "CFR_PLUS")) and value[:3] == self[:3]
        }
        if known and "PRUNED_CFR" not in known:
            words = [next(iter(known)).replace("_PLUS", "+")]
        else:
            if self.minimizer != rules.RegretMatching():
                words[0] += f" with {self.minimizer}"
            if self.averaging != UNIFORM:
                words.append(str(self.averaging))
        if not self.alternating:
            words.append("simultaneous updates")
        if self.batch != 1:
            words.append(
                "growing batches" if self.batch == AUTO else f"{self.batch} walks"
            )
        return ", ".join(words)


CFR = Algorithm(FULL, rules.regret_matching())
"""Zinkevich, Johanson, Bowling, Piccione 2007, alternating."""
PRUNED_CFR = Algorithm(samplings.full(prune=True), rules.regret_matching())
"""CFR that does not follow an opponent's action of probability 0 (Lanctot et al. 2009,
section 5)."""
CFR_PLUS = Algorithm(FULL, rules.regret_matching_plus(), averages.LINEAR)
"""Tammelin 2014."""
LCFR = Algorithm(FULL, rules.discounted_regret_matching(1.0, 1.0), averages.LINEAR)
"""Linear CFR (Brown, Sandholm 2019)."""
DCFR = Algorithm(FULL, rules.discounted_regret_matching(1.5, 0.0), averages.QUADRATIC)
"""Discounted CFR with (alpha, beta, gamma) = (1.5, 0, 2) (Brown, Sandholm 2019)."""
PCFR_PLUS = Algorithm(FULL, rules.predictive_regret_matching_plus(), averages.QUADRATIC)
"""Predictive CFR+ (Farina, Kroer, Sandholm 2021)."""
DCFR_PLUS = Algorithm(
    FULL,
    rules.predictive_regret_matching_plus(0.0, alpha=1.5, offset=1.5),
    averages.polynomial(4.0),
)
"""DCFR+ (Xu et al. 2024)."""
PDCFR_PLUS = Algorithm(
    FULL, rules.predictive_regret_matching_plus(alpha=2.3), averages.polynomial(5.0)
)
"""PDCFR+ (Xu et al. 2024)."""
SAPCFR_PLUS = Algorithm(
    FULL, rules.predictive_regret_matching_plus(1 / 3), averages.QUADRATIC
)
"""PCFR+ whose prediction has a third of the weight (Meng et al. 2025)."""
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
    """DCFR with a schedule of its parameters (Zhang, McAleer, Sandholm 2024).

    Alpha goes from 1 to 4, beta from -1 to -3, and gamma falls by 5 (or to 0).

    Args:
        horizon: the number of iterations that are to be run, at least 1.
        gamma: of the average at first.
    """
    rule = rules.discounted_regret_matching(
        1.0, -1.0, alpha_change=3.0, beta_change=-2.0, horizon=horizon
    )
    return Algorithm(FULL, rule, _falling(gamma, horizon))


def hs_pcfr_plus(horizon: int, *, gamma: float = 30.0) -> Algorithm:
    """PCFR+ with a schedule for its average (Zhang, McAleer, Sandholm 2024).

    Args:
        horizon: the number of iterations that are to be run, at least 1.
        gamma: of the average at first; falls by 5 (or to 0).
    """
    return Algorithm(
        FULL, rules.predictive_regret_matching_plus(), _falling(gamma, horizon)
    )


def _falling(gamma: float, horizon: int) -> Averaging:
    gamma = refusals.number(gamma, "gamma", 0, averages.MOST_GAMMA)
    if refusals.integer(horizon, "horizon", 1) and not gamma:
        return UNIFORM
    return Averaging(gamma, -min(gamma, 5.0), horizon)


SCHEDULES: dict[str, Callable[..., Algorithm]] = {
    "hs_dcfr": hs_dcfr,
    "hs_pcfr_plus": hs_pcfr_plus,
}
"""The algorithms that depend on a horizon, as the command line calls them. They are
called with the horizon, and with `gamma` to change the average."""


def schedule_of(algorithm: Algorithm) -> tuple[str, int, float] | None:
    """The name in SCHEDULES, the horizon and the gamma that make an algorithm, except
    for whether players alternate; None if there are none."""
    averaging = algorithm.averaging
    horizon = averaging.horizon or getattr(algorithm.minimizer, "horizon", 0)
    for name, make in SCHEDULES.items():
        if horizon and make(horizon, gamma=averaging.gamma)[:3] == algorithm[:3]:
            return name, horizon, averaging.gamma
    return None


def named_constants() -> dict[str, Algorithm]:
    """The module's named algorithms."""
    found = globals().items()
    return {name: value for name, value in found if isinstance(value, Algorithm)}


ALGORITHMS = {name.lower(): one for name, one in named_constants().items()} | {
    "ftrl": Algorithm(samplings.EXTERNAL, rules.ftrl(1.0)),
    "omd": Algorithm(samplings.EXTERNAL, rules.omd(1.0)),
}
"""The named algorithms, as the command line calls them."""
