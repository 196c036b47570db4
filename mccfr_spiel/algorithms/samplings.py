"""What a walk samples: the gradient estimators."""

from dataclasses import dataclass
from typing import Any

from mccfr_spiel.algorithms.part import Part, name_in
from mccfr_spiel.common import refusals

_PLAYER_SAMPLINGS = ("all", "epsilon", "balanced", "average")
_BY_REGRET = "regret"
_BASELINES = ("", "learned", "predictive")

_SAMPLING_WORDS = {
    "FULL": "CFR",
    "BALANCED_OUTCOME": "balanced outcome sampling",
    "AVERAGE_STRATEGY": "average-strategy sampling",
}
"""What papers call constants whose names do not say it already."""


@dataclass(frozen=True, repr=False)
class Sampling(Part):
    """What one walk over the tree samples; what is not sampled is followed whole.

    Attributes:
        chance: whether chance is sampled, by its probabilities.
        opponents: whether the other players are, by their policies.
        player: how the updating player is: "all" (not at all), "epsilon" (by its policy
            mixed with the uniform one), "balanced" (by the strategy that spreads over
            its sequences evenly), or "average" (each action is followed with the
            probability (bonus + threshold S(a)) / (bonus + sum S), within [epsilon, 1],
            where S is the weighted sum of its plans, the average's numerator).
        epsilon: share of the uniform policy in "epsilon", the least probability in
            "average".
        prune: True: do not follow an opponent's action of probability 0. "regret",
            where nothing is sampled: do not follow an action of the updating player as
            long as its regret stays below 0 whatever the opponent plays (Brown,
            Sandholm 2015), and later make good what is below it by the best response
            (Brown, Sandholm 2017). For regret matching and two players.
        threshold, bonus: of "average".
        prune_below: a regret below 0; in 95 % of walks an action of the updated player
            whose cumulative regret is below it, and whose probability is 0, is not
            followed unless it ends the game. Regrets are then kept above a floor of
            31/30 of it. None for no such pruning. For external sampling with regret
            matching.
        baseline: "learned" (Schmid et al. 2019): the estimates are corrected by what
            earlier walks found at each infoset and action; or "predictive", where what
            a walk found is weighed by the policy after its update, in the spirit of
            Davis et al. 2020. "" for none. For outcome, balanced outcome and external
            sampling; draws of chance are not corrected.
        baseline_rate: the share of the way to what a walk found that a baseline moves.

    Raises:
        ValueError: a field is of the wrong kind, or out of range.
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

    def __post_init__(self) -> None:
        for name in ("chance", "opponents", "prune"):
            value = getattr(self, name)
            if name == "prune" and isinstance(value, str) and value == _BY_REGRET:
                self.fill(prune=_BY_REGRET)
                continue
            more = f', nor "{_BY_REGRET}"' if name == "prune" else ""
            self.fill(**{name: refusals.flag(value, f"Sampling: {name}", more)})
        if self.player not in _PLAYER_SAMPLINGS:
            raise ValueError(
                f"Sampling: player={self.player!r} is none of {_PLAYER_SAMPLINGS}."
            )
        self.fill(epsilon=_epsilon(self.epsilon, self.player))
        for name in ("threshold", "bonus"):
            value = refusals.number(getattr(self, name), name, 0, 1e100)
            if value and self.player != "average":
                raise ValueError(
                    f"{name}={value:g} is given, but only average-strategy sampling "
                    "has one; choose it or drop it."
                )
            self.fill(**{name: value})
        if self.prune_below is not None:
            self._check_prunes()
        self._check_baseline()
        if self.prunes_by_regret and self.is_sampled:
            raise ValueError(
                'prune="regret" is given, but it takes the exact regrets of passes '
                "over the whole tree; sample nothing, or choose prune_below with "
                "external sampling."
            )

    def _check_baseline(self) -> None:
        rate = refusals.number(self.baseline_rate, "baseline_rate", 0, 1, open_low=True)
        self.fill(baseline_rate=rate)
        if self.baseline not in _BASELINES:
            raise ValueError(f"baseline={self.baseline!r} is none of {_BASELINES}.")
        if not self.baseline and rate != 0.5:
            raise ValueError(
                f"baseline_rate={rate:g} is given, but no baseline; choose "
                'baseline="learned" or "predictive", or drop it.'
            )
        draws = self.chance and self.opponents and not self.picks_actions
        if self.baseline and not draws:
            raise ValueError(
                f"baseline={self.baseline!r} is given, but only outcome and external "
                "sampling have baselines; choose one of them, or drop it."
            )
        if self.baseline and self.prune_below is not None:
            raise ValueError(
                f"baseline={self.baseline!r} is given, but walks that leave out "
                f"actions (prune_below={self.prune_below:g}) do not find the value of "
                "an infoset; drop one of them."
            )

    def _check_prunes(self) -> None:
        value = refusals.number(self.prune_below, "prune_below", -1e100, 0)
        if value == 0:
            raise ValueError(
                f"prune_below={value:g} is not below 0; Pluribus took -300,000,000, in "
                "a game of stacks of 10,000 chips."
            )
        if not (self.chance and self.opponents and self.player == "all"):
            raise ValueError(
                f"prune_below={value:g} is given, but only external sampling leaves "
                "out actions by their regret; choose it or drop it."
            )
        self.fill(prune_below=value)

    @property
    def prunes_by_regret(self) -> bool:
        """Whether `prune` is "regret"."""
        return self.prune == _BY_REGRET

    @property
    def is_sampled(self) -> bool:
        """Whether anything is sampled at all."""
        return self.chance or self.opponents or self.player != "all"

    @property
    def draws_one_action(self) -> bool:
        """Whether one action of the updated player is followed at each infoset."""
        return self.player in ("epsilon", "balanced")

    @property
    def picks_actions(self) -> bool:
        """Whether some of them are, see kernels/sampling.py."""
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
            return _SAMPLING_WORDS.get(name, f"{name.lower()} sampling")
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
            numbers = f"{self.epsilon:g}, {self.threshold:g}, {self.bonus:g}"
            return f"average-strategy sampling ({numbers})"
        who = {"chance": self.chance, "opponents": self.opponents}
        who[f"the player ({self.player})"] = self.player != "all"
        sampled = " and ".join(name for name, is_so in who.items() if is_so)
        return f"{'pruned ' if self.prune else ''}sampling of {sampled or 'nothing'}"


def _epsilon(value: Any, player: str) -> float:
    if player not in ("epsilon", "average"):
        return refusals.number(value, "epsilon", 0, 1)
    try:
        return refusals.number(value, "epsilon", 0, 1, open_low=True)
    except ValueError as error:
        raise ValueError(
            f"{error} At 0 an action of probability 0 is never sampled and the "
            "estimate is biased. Lanctot et al. use 0.6 in outcome sampling, Gibson et "
            "al. 0.05 in average-strategy sampling."
        ) from None


def full(*, prune: bool | str = False) -> Sampling:
    """Nothing sampled (Zinkevich et al. 2007), optionally with pruning, see
    `Sampling`."""
    return Sampling(chance=False, opponents=False, prune=prune)


def outcome(epsilon: float, *, baseline: str = "") -> Sampling:
    """One history a walk; the player explores with `epsilon` (Lanctot et al. 2009), on
    request with baselines, see `Sampling`."""
    return Sampling(True, True, "epsilon", epsilon, baseline=baseline)


def external(*, baseline: str = "") -> Sampling:
    """Chance and the opponents sampled, all of the player's actions followed (Lanctot
    et al. 2009), on request with baselines, see `Sampling`."""
    return Sampling(True, True, baseline=baseline)


def average_strategy(
    epsilon: float = 0.05, threshold: float = 1000.0, bonus: float = 1e6
) -> Sampling:
    """Actions followed the more often, the more of them is in the average (Gibson et
    al. 2012, whose numbers for poker are the defaults); chance and the opponents are
    sampled."""
    return Sampling(True, True, "average", epsilon, threshold=threshold, bonus=bonus)


FULL = full()
CHANCE = Sampling(chance=True, opponents=False)
OPPONENT = Sampling(chance=False, opponents=True)
EXTERNAL = Sampling(chance=True, opponents=True)
OUTCOME = outcome(0.6)
BALANCED_OUTCOME = Sampling(chance=True, opponents=True, player="balanced")
AVERAGE_STRATEGY = average_strategy()
