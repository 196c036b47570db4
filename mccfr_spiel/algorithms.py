"""Algorithms as values: what is sampled, the local rule, the average.

Any regret minimizer goes with any gradient estimator (Farina, Kroer, Sandholm 2020), so
an algorithm here names three parts and holds no code. Each function checks its
arguments and raises ValueError.
"""

from typing import NamedTuple


class Sampling(NamedTuple):
    """What one walk over the tree samples; what is not sampled is followed whole.

    Attributes:
        chance: whether chance is sampled, by its probabilities.
        opponents: whether the other players are, by their policies.
        player: how the updating player is: "all" (not at all), "epsilon" (by its policy
            mixed with the uniform one), or "balanced" (by the strategy that spreads
            over its sequences evenly).
        epsilon: share of the uniform policy in "epsilon".
        prune: do not follow an opponent's action of probability 0.
    """

    chance: bool
    opponents: bool
    player: str = "all"
    epsilon: float = 0.0
    prune: bool = False

    @property
    def is_sampled(self) -> bool:
        """Whether anything is sampled at all."""
        return self.chance or self.opponents or self.player != "all"


def full(*, prune: bool = False) -> Sampling:
    """Nothing sampled (Zinkevich et al. 2007), optionally with pruning."""
    return Sampling(chance=False, opponents=False, prune=prune)


def outcome(epsilon: float) -> Sampling:
    """One history a walk; the player explores with `epsilon` (Lanctot et al. 2009)."""
    if not 0 < epsilon <= 1:
        raise ValueError(
            f"epsilon={epsilon} is not in (0, 1]: at 0 an action of probability 0 is "
            "never sampled and the estimate is biased. Lanctot et al. use 0.6."
        )
    return Sampling(chance=True, opponents=True, player="epsilon", epsilon=epsilon)


FULL = full()
CHANCE = Sampling(chance=True, opponents=False)
OPPONENT = Sampling(chance=False, opponents=True)
EXTERNAL = Sampling(chance=True, opponents=True)
OUTCOME = outcome(0.6)
BALANCED_OUTCOME = Sampling(chance=True, opponents=True, player="balanced")


class Minimizer(NamedTuple):
    """The local rule by which the policy at an infoset moves.

    Attributes:
        rule: "regret_matching", "regret_matching_plus", "ftrl" or "omd".
        step_size: eta of FTRL and OMD.
        weights: of the dilated entropy in FTRL and OMD, "constant" (1 everywhere) or
            "kroer" (the strongly convex ones of Kroer et al. 2020).
        initial_regret: the cumulative regrets start uniform in [0, initial_regret).
    """

    rule: str
    step_size: float = 1.0
    weights: str = "constant"
    initial_regret: float = 0.0


def _regret_minimizer(rule: str, initial_regret: float) -> Minimizer:
    if not 0 <= initial_regret < float("inf"):
        raise ValueError(f"initial_regret={initial_regret} is not a number >= 0.")
    return Minimizer(rule, initial_regret=float(initial_regret))


def regret_matching(*, initial_regret: float = 0.0) -> Minimizer:
    """R += G - <b, G>; b ~ max(R, 0), uniform if none is positive (Hart, Mas-Colell
    2000)."""
    return _regret_minimizer("regret_matching", initial_regret)


def regret_matching_plus(*, initial_regret: float = 0.0) -> Minimizer:
    """R = max(R + G - <b, G>, 0); b ~ R (Tammelin 2014)."""
    return _regret_minimizer("regret_matching_plus", initial_regret)


def _entropy_minimizer(rule: str, step_size: float, weights: str) -> Minimizer:
    if not 0 < step_size < float("inf"):
        raise ValueError(f"step_size={step_size} is not a number above 0.")
    if weights not in ("constant", "kroer"):
        raise ValueError(f'weights={weights!r} is neither "constant" nor "kroer".')
    return Minimizer(rule, float(step_size), weights)


def ftrl(step_size: float, *, weights: str = "constant") -> Minimizer:
    """Follow the regularized leader with dilated entropy (Farina et al. 2020):
    L += G; b = softmax(eta L / beta)."""
    return _entropy_minimizer("ftrl", step_size, weights)


def omd(step_size: float, *, weights: str = "constant") -> Minimizer:
    """Online mirror descent with dilated entropy (Farina et al. 2020):
    b ~ b exp(eta G / beta)."""
    return _entropy_minimizer("omd", step_size, weights)


class Averaging(NamedTuple):
    """The policy of iteration t enters the average with weight t ** gamma."""

    gamma: float = 0.0


def polynomial(gamma: float) -> Averaging:
    """Weights t ** gamma."""
    if not 0 <= gamma < float("inf"):
        raise ValueError(f"gamma={gamma} is not a number >= 0.")
    return Averaging(float(gamma))


UNIFORM = Averaging(0.0)
LINEAR = Averaging(1.0)
QUADRATIC = Averaging(2.0)


class Algorithm(NamedTuple):
    """A solver's three parts, and whether players move one after the other.

    Attributes:
        sampling: the gradient estimator.
        minimizer: the local rule.
        averaging: the weights of the average.
        alternating: each player is updated against the others' newest policies; else
            all are updated at once from the same ones.
    """

    sampling: Sampling
    minimizer: Minimizer
    averaging: Averaging = UNIFORM
    alternating: bool = True


CFR = Algorithm(FULL, regret_matching())
"""Zinkevich, Johanson, Bowling, Piccione 2007, alternating."""
PRUNED_CFR = Algorithm(full(prune=True), regret_matching())
"""CFR that does not follow an opponent's action of probability 0 (Lanctot et al. 2009,
section 5)."""
CFR_PLUS = Algorithm(FULL, regret_matching_plus(), LINEAR)
"""Tammelin 2014."""
CHANCE_SAMPLING = Algorithm(CHANCE, regret_matching())
"""Zinkevich et al. 2007; Lanctot et al. 2009, section 3."""
OPPONENT_SAMPLING = Algorithm(OPPONENT, regret_matching())
"""Farina, Kroer, Sandholm 2020, with regret matching."""
EXTERNAL_SAMPLING = Algorithm(EXTERNAL, regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.2."""
OUTCOME_SAMPLING = Algorithm(OUTCOME, regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.1."""
BALANCED_OUTCOME_SAMPLING = Algorithm(BALANCED_OUTCOME, regret_matching())
"""Farina, Kroer, Sandholm 2020, section 4.2.1, with regret matching."""

ALGORITHMS = {
    "cfr": CFR,
    "pruned_cfr": PRUNED_CFR,
    "cfr_plus": CFR_PLUS,
    "chance_sampling": CHANCE_SAMPLING,
    "opponent_sampling": OPPONENT_SAMPLING,
    "external_sampling": EXTERNAL_SAMPLING,
    "outcome_sampling": OUTCOME_SAMPLING,
    "balanced_outcome_sampling": BALANCED_OUTCOME_SAMPLING,
    "ftrl": Algorithm(EXTERNAL, ftrl(1.0)),
    "omd": Algorithm(EXTERNAL, omd(1.0)),
}
"""The named algorithms, as the command line calls them."""
