"""The samplings: which moves a walk over the tree samples.

A walk computes an unbiased estimate of the gradient of one player, the updated player.

| constant | sampled | paper |
|---|---|---|
| FULL | nothing | Zinkevich et al. 2007 |
| CHANCE | chance | Zinkevich et al. 2007 |
| OPPONENT | the other players | Farina, Kroer, Sandholm 2020 |
| EXTERNAL | chance and the other players | Lanctot et al. 2009 |
| OUTCOME | chance and all players, epsilon 0.6 | Lanctot et al. 2009 |
| BALANCED_OUTCOME | as OUTCOME, balanced | Farina, Kroer, Sandholm 2020 |
| AVERAGE_STRATEGY | as EXTERNAL, and subsets of actions | Gibson et al. 2012 |
"""

from dataclasses import dataclass
from typing import Any

from mccfr_spiel.algorithms.part import Part, name_in
from mccfr_spiel.common import refusals

_PLAYER_SAMPLINGS = ("all", "epsilon", "balanced", "average")
_BY_REGRET = "regret"
_BASELINES = ("", "learned", "predictive")
_CHANCE_DRAWS = ("independent", "sobol")

_PUBLISHED_NAMES = {
    "FULL": "CFR",
    "BALANCED_OUTCOME": "balanced outcome sampling",
    "AVERAGE_STRATEGY": "average-strategy sampling",
}
"""Name of a constant -> name in papers, where the two differ."""


@dataclass(frozen=True, repr=False)
class Sampling(Part):
    """Which moves a walk over the tree samples. A walk follows all other moves.

    Attributes:
        chance: whether outcomes of chance are sampled, by their probabilities.
        opponents: whether actions of the other players (those who are not updated) are
            sampled, by their policies.
        player: which actions of the updated player are followed. "all": all actions.
            "epsilon": one action, drawn from a mixture of the policy and the uniform
            policy. "balanced": one action, drawn from the balanced strategy, in which
            the probability of an action is proportional to the number of the player's
            sequences at and below the action. "average": each action a with the
            probability (bonus + threshold S(a)) / (bonus + sum of S over all actions),
            clipped to [epsilon, 1]. S is the weighted sum of the player's realization
            plans over the iterations.
        epsilon: for "epsilon", the weight of the uniform policy in the mixture; for
            "average", the minimum probability of an action.
        prune: whether, and how, actions are skipped without sampling. False: no action.
            True: the other players' actions of probability 0. "regret": regret-based
            pruning, for two players, regret matching and no sampling. It skips actions
            of the updated player for as long as their regrets must stay negative,
            whatever the opponent plays (Brown, Sandholm 2015). When an action is
            followed again, a best response restores the regrets below it (Brown,
            Sandholm 2017).
        threshold: the number `threshold` in the formula of "average".
        bonus: the number `bonus` in the formula of "average".
        prune_below: a negative regret, or None. In 95 % of the walks, actions of the
            updated player with probability 0 and a lower cumulative regret are skipped,
            unless they end the game. Regrets are not decreased below 31/30 of this
            number. Requires external sampling and regret matching.
        baseline: kind of baselines, "" for none. Baselines reduce the variance of
            estimates. "learned": the baseline of an infoset and action is a running
            mean of the values that earlier walks found there (Schmid et al. 2019).
            "predictive": the values are computed with the policy after the update,
            similar to Davis et al. 2020. Requires outcome, balanced outcome or external
            sampling. The variance from draws of chance is not reduced.
        baseline_rate: step size of the running means of baselines, in (0, 1].
        chance_draws: how outcomes of chance are drawn. "independent": independently in
            every walk. "sobol": from a scrambled Sobol sequence over the walks of a
            player, which covers the outcomes evenly. Requires that chance is sampled.
            The theorems of Lanctot et al. 2009 assume independent draws.

    Raises:
        ValueError: a field has the wrong type or is out of range, or a combination of
            fields is not possible.
    """

    chance: bool
    opponents: bool
    player: str = "all"
    epsilon: float = 0.0
    prune: bool | str = False
    threshold: float = 0.0
    bonus: float = 0.0
    prune_below: float | None = None
    baseline: str = ""
    baseline_rate: float = 0.5
    chance_draws: str = "independent"

    def __post_init__(self) -> None:
        for name in ("chance", "opponents", "prune"):
            value = getattr(self, name)
            if name == "prune" and isinstance(value, str) and value == _BY_REGRET:
                self.fill(prune=_BY_REGRET)
                continue
            others = f', or "{_BY_REGRET}"' if name == "prune" else ""
            self.fill(**{name: refusals.flag(value, f"Sampling: {name}", others)})
        if self.player not in _PLAYER_SAMPLINGS:
            raise ValueError(
                f"Sampling: player={self.player!r} must be one of "
                f"{', '.join(_PLAYER_SAMPLINGS)}."
                f"{refusals.near(str(self.player), _PLAYER_SAMPLINGS)}"
            )
        self.fill(epsilon=_epsilon(self.epsilon, self.player))
        for name in ("threshold", "bonus"):
            value = refusals.number(getattr(self, name), name, 0, 1e100)
            if value and self.player != "average":
                raise ValueError(
                    f"{name}={value:g} requires average-strategy sampling, "
                    f'player="average". Use it or drop {name}.'
                )
            self.fill(**{name: value})
        if self.prune_below is not None:
            self._check_prunes()
        self._check_baseline()
        self._check_chance_draws()
        if self.prunes_by_regret and self.is_sampled:
            raise ValueError(
                'prune="regret" requires exact regrets, so sample nothing. Use '
                "full sampling, or prune_below with external sampling."
            )

    def _check_baseline(self) -> None:
        rate = refusals.number(self.baseline_rate, "baseline_rate", 0, 1, open_low=True)
        self.fill(baseline_rate=rate)
        if self.baseline not in _BASELINES:
            raise ValueError(
                f'baseline={self.baseline!r} must be "learned" or "predictive", or "" '
                f"for none.{refusals.near(str(self.baseline), _BASELINES)}"
            )
        if not self.baseline and rate != 0.5:
            raise ValueError(
                f"baseline_rate={rate:g} requires a baseline. Set "
                'baseline="learned" or "predictive", or drop baseline_rate.'
            )
        draws = self.chance and self.opponents and not self.picks_actions
        if self.baseline and not draws:
            raise ValueError(
                f"baseline={self.baseline!r} requires outcome, balanced outcome or "
                "external sampling. Use one of them or drop the baseline."
            )
        if self.baseline and self.prune_below is not None:
            raise ValueError(
                f"baseline={self.baseline!r} does not work with "
                f"prune_below={self.prune_below:g}, because walks that skip actions "
                "cannot estimate values of infosets. Drop one of the two."
            )

    def _check_chance_draws(self) -> None:
        if self.chance_draws not in _CHANCE_DRAWS:
            raise ValueError(
                f"chance_draws={self.chance_draws!r} must be "
                f"{' or '.join(map(repr, _CHANCE_DRAWS))}."
                f"{refusals.near(str(self.chance_draws), _CHANCE_DRAWS)}"
            )
        if self.correlates_chance and not self.chance:
            raise ValueError(
                f"chance_draws={self.chance_draws!r} requires a sampling that draws "
                "chance, such as ms.EXTERNAL. Use one or drop chance_draws."
            )

    def _check_prunes(self) -> None:
        value = refusals.number(self.prune_below, "prune_below", -1e100, 0)
        if value == 0:
            raise ValueError(
                f"prune_below={value:g} must be negative. Pluribus used -300,000,000 "
                "for stacks of 10,000 chips."
            )
        if not (self.chance and self.opponents and self.player == "all"):
            raise ValueError(
                f"prune_below={value:g} requires external sampling. Use it or drop "
                "prune_below."
            )
        self.fill(prune_below=value)

    @property
    def prunes_by_regret(self) -> bool:
        """Whether `prune` is "regret"."""
        return self.prune == _BY_REGRET

    @property
    def is_sampled(self) -> bool:
        """Whether any moves are sampled."""
        return self.chance or self.opponents or self.player != "all"

    @property
    def correlates_chance(self) -> bool:
        """Whether draws of chance in different walks are correlated."""
        return self.chance_draws != "independent"

    @property
    def draws_one_action(self) -> bool:
        """Whether walks follow one action of the updated player at each infoset."""
        return self.player in ("epsilon", "balanced")

    @property
    def picks_actions(self) -> bool:
        """Whether walks follow a random subset of the updated player's actions, see
        kernels/selection.py."""
        return self.player == "average"

    def __repr__(self) -> str:
        if self.prune and self == full(prune=self.prune):
            return f"full(prune={self.prune!r})"
        if self == outcome(self.epsilon or 1.0):
            return f"outcome({self.epsilon!r})"
        return name_in(globals(), self) or self.spelled("Sampling")

    def __str__(self) -> str:
        name = name_in(globals(), self)
        if name:
            return _PUBLISHED_NAMES.get(name, f"{name.lower()} sampling")
        if self.correlates_chance:
            plain = self._replace(chance_draws="independent")
            return f"{plain} with Sobol draws of chance"
        if self == full(prune=self.prune):
            return "CFR pruned by regret" if self.prunes_by_regret else "pruned CFR"
        if self == outcome(self.epsilon or 1.0):
            return f"outcome sampling (epsilon {self.epsilon:g})"
        if self.prune_below is not None:
            return f"external sampling, pruned below {self.prune_below:g}"
        if self.baseline:
            plain = self._replace(baseline="", baseline_rate=0.5)
            rate = f" at {self.baseline_rate:g}" * (self.baseline_rate != 0.5)
            return f"{plain} with {self.baseline} baselines{rate}"
        if self.player == "average" and self.chance and self.opponents:
            parameters = f"{self.epsilon:g}, {self.threshold:g}, {self.bonus:g}"
            return f"average-strategy sampling ({parameters})"
        is_sampled = {"chance": self.chance, "opponents": self.opponents}
        is_sampled[f"the player ({self.player})"] = self.player != "all"
        sampled = " and ".join(name for name, flag in is_sampled.items() if flag)
        return f"{'pruned ' if self.prune else ''}sampling of {sampled or 'nothing'}"


def _epsilon(value: Any, player: str) -> float:
    if player not in ("epsilon", "average"):
        return refusals.number(value, "epsilon", 0, 1)
    try:
        return refusals.number(value, "epsilon", 0, 1, open_low=True)
    except ValueError as error:
        raise ValueError(
            f"{error} With 0, actions of probability 0 would never be sampled and "
            "estimates would be biased. Published values are 0.6 for outcome sampling "
            "(Lanctot et al.) and 0.05 for average-strategy sampling (Gibson et al.)."
        ) from None


def full(*, prune: bool | str = False) -> Sampling:
    """No sampling: all moves are followed (Zinkevich et al. 2007).

    Args:
        prune: which actions are skipped, see `Sampling`.
    """
    return Sampling(chance=False, opponents=False, prune=prune)


def outcome(epsilon: float, *, baseline: str = "") -> Sampling:
    """Outcome sampling: each walk follows a single history (Lanctot et al. 2009).

    Args:
        epsilon: weight of the uniform policy in the updated player's draws, in (0, 1].
        baseline: kind of baselines, see `Sampling`.
    """
    return Sampling(True, True, "epsilon", epsilon, baseline=baseline)


def external(*, baseline: str = "", chance_draws: str = "independent") -> Sampling:
    """External sampling (Lanctot et al. 2009).

    Walks follow all actions of the updated player. Moves of chance and of the other
    players are sampled.

    Args:
        baseline: kind of baselines, see `Sampling`.
        chance_draws: how chance is drawn, see `Sampling`.
    """
    return Sampling(True, True, baseline=baseline, chance_draws=chance_draws)


def average_strategy(
    epsilon: float = 0.05, threshold: float = 1000.0, bonus: float = 1e6
) -> Sampling:
    """Average-strategy sampling (Gibson et al. 2012).

    Walks follow an action of the updated player with a probability that increases with
    the probability of the action in the average policy. Moves of chance and of the
    other players are sampled. The defaults are the paper's parameters for poker.
    `Sampling` has the formula.

    Args:
        epsilon: minimum probability of an action.
        threshold: factor of the action's share in the average.
        bonus: constant that makes probabilities larger early in a run.
    """
    return Sampling(True, True, "average", epsilon, threshold=threshold, bonus=bonus)


FULL = full()
CHANCE = Sampling(chance=True, opponents=False)
OPPONENT = Sampling(chance=False, opponents=True)
EXTERNAL = Sampling(chance=True, opponents=True)
OUTCOME = outcome(0.6)
BALANCED_OUTCOME = Sampling(chance=True, opponents=True, player="balanced")
AVERAGE_STRATEGY = average_strategy()
