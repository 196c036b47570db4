"""An algorithm as a value of three parts, and the algorithms that have names."""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from mccfr_spiel.algorithms import parts, rules
from mccfr_spiel.algorithms.parts import FULL, UNIFORM, Averaging, Minimizer, Sampling
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
            shown.append(f"batch={parts.written(self.batch)}")
        return f"Algorithm({', '.join(shown)})"

    def __str__(self) -> str:
        """What papers call it: `CFR+`, `external sampling with FTRL (step size 1)`."""
        words = [str(self.sampling)]
        known = {
            name: value
            for name, value in _constants().items()
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
PRUNED_CFR = Algorithm(parts.full(prune=True), rules.regret_matching())
"""CFR that does not follow an opponent's action of probability 0 (Lanctot et al. 2009,
section 5)."""
CFR_PLUS = Algorithm(FULL, rules.regret_matching_plus(), parts.LINEAR)
"""Tammelin 2014."""
LCFR = Algorithm(FULL, rules.discounted_regret_matching(1.0, 1.0), parts.LINEAR)
"""Linear CFR (Brown, Sandholm 2019)."""
DCFR = Algorithm(FULL, rules.discounted_regret_matching(1.5, 0.0), parts.QUADRATIC)
"""Discounted CFR with (alpha, beta, gamma) = (1.5, 0, 2) (Brown, Sandholm 2019)."""
PCFR_PLUS = Algorithm(FULL, rules.predictive_regret_matching_plus(), parts.QUADRATIC)
"""Predictive CFR+ (Farina, Kroer, Sandholm 2021)."""
DCFR_PLUS = Algorithm(
    FULL,
    rules.predictive_regret_matching_plus(0.0, alpha=1.5, offset=1.5),
    parts.polynomial(4.0),
)
"""DCFR+ (Xu et al. 2024)."""
PDCFR_PLUS = Algorithm(
    FULL, rules.predictive_regret_matching_plus(alpha=2.3), parts.polynomial(5.0)
)
"""PDCFR+ (Xu et al. 2024)."""
SAPCFR_PLUS = Algorithm(
    FULL, rules.predictive_regret_matching_plus(1 / 3), parts.QUADRATIC
)
"""PCFR+ whose prediction has a third of the weight (Meng et al. 2025)."""
CHANCE_SAMPLING = Algorithm(parts.CHANCE, rules.regret_matching())
"""Zinkevich et al. 2007; Lanctot et al. 2009, section 3."""
OPPONENT_SAMPLING = Algorithm(parts.OPPONENT, rules.regret_matching())
"""Farina, Kroer, Sandholm 2020, with regret matching."""
EXTERNAL_SAMPLING = Algorithm(parts.EXTERNAL, rules.regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.2."""
OUTCOME_SAMPLING = Algorithm(parts.OUTCOME, rules.regret_matching())
"""Lanctot, Waugh, Zinkevich, Bowling 2009, section 3.1."""
BALANCED_OUTCOME_SAMPLING = Algorithm(parts.BALANCED_OUTCOME, rules.regret_matching())
"""Farina, Kroer, Sandholm 2020, section 4.2.1, with regret matching."""
AVERAGE_STRATEGY_SAMPLING = Algorithm(parts.AVERAGE_STRATEGY, rules.regret_matching())
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
    gamma = refusals.number(gamma, "gamma", 0, parts.MOST_GAMMA)
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


def _constants() -> dict[str, Algorithm]:
    """The module's named algorithms."""
    found = globals().items()
    return {name: value for name, value in found if isinstance(value, Algorithm)}


ALGORITHMS = {name.lower(): one for name, one in _constants().items()} | {
    "ftrl": Algorithm(parts.EXTERNAL, rules.ftrl(1.0)),
    "omd": Algorithm(parts.EXTERNAL, rules.omd(1.0)),
}
"""The named algorithms, as the command line calls them."""


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
            f"{', '.join(f'ms.{name}' for name in _constants())} (ms is mccfr_spiel)."
        )
    kinds = {"sampling": Sampling, "minimizer": Minimizer, "averaging": Averaging}
    for name, kind in kinds.items():
        part = getattr(algorithm, name)
        if not isinstance(part, kind):
            own = parts.OWN_KINDS[name].maker
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


# --- text -> algorithm, for what `repr` has written -----------------------------------


_CALLS: dict[str, Any] = {
    **{k: v for k, v in vars(parts).items() if isinstance(v, Sampling | Averaging)},
    **rules.RULES,
    **{kind.__name__: kind for kind in rules.RULES.values()},
    **{one.__name__: one for one in (Algorithm, Averaging, Sampling)},
    **{one.__name__: one for one in (parts.full, parts.outcome, parts.polynomial)},
}
"""The names that a repr may have in it. All of them make values and do nothing else."""


def value_in(text: str, more_calls: Mapping[str, Any]) -> Any:
    """The value whose repr a text is, such as
    `Algorithm(outcome(0.4), ftrl(step_size=0.5), LINEAR)`.

    Args:
        text: the repr.
        more_calls: name -> what makes a value, such as the part of a user's function.

    Raises:
        ValueError: the text has something else in it than calls of known names with
            names, calls and literals; or what is called refuses its arguments.
    """
    calls = _CALLS | {**more_calls}
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, calls)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"algorithm={text!r} cannot be read: {error}") from error


def _value(node: ast.expr, calls: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name in calls:
                return calls[name]
            hint = refusals.near(name, calls)
            raise ValueError(f"algorithm={name!r} is none of {', '.join(calls)}.{hint}")
        case ast.Call(func=ast.Name() as make, args=args, keywords=keywords):
            more = {str(one.arg): _value(one.value, calls) for one in keywords}
            return _value(make, calls)(*(_value(one, calls) for one in args), **more)
        case _:
            return ast.literal_eval(node)
