"""Rules with dilated entropy: FTRL, online mirror descent, and their relatives."""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_spiel import refusals
from mccfr_spiel.algorithms.minimizers import Minimizer

STEP_SIZES = 1e-100, 1e100
"""Products of these with payoffs, and quotients, still fit a double."""

_ENTROPIES = ("constant", "kroer")


@dataclass(frozen=True, repr=False)
class EntropyMinimizer(Minimizer):
    """Rules with dilated entropy, which has a weight beta at each infoset.

    Attributes:
        step_size: eta.
        weights: "constant" (1 everywhere) or "kroer" (the strongly convex ones of Kroer
            et al. 2020).

    Raises:
        ValueError: `step_size` is not in STEP_SIZES, or `weights` is another word.
    """

    step_size: float
    weights: str = "constant"
    tables: ClassVar[tuple[str, ...]] = ("weight",)

    def __post_init__(self) -> None:
        self.fill(step_size=refusals.number(self.step_size, "step_size", *STEP_SIZES))
        if self.weights not in _ENTROPIES:
            raise ValueError(
                f'weights={self.weights!r} is neither "constant" nor "kroer".'
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        """The step size."""
        return (self.step_size,)

    @property
    def needs_whole_tree(self) -> bool:
        """Kroer's weights count what is below an infoset."""
        return self.weights == "kroer"


@dataclass(frozen=True, repr=False)
class FTRL(EntropyMinimizer):
    """Follow the regularized leader (Farina et al. 2020):
    L += G; b = softmax(eta L / beta)."""

    rule: ClassVar[str] = "ftrl"


@dataclass(frozen=True, repr=False)
class OMD(EntropyMinimizer):
    """Online mirror descent (Farina et al. 2020): b ~ b exp(eta G / beta)."""

    rule: ClassVar[str] = "omd"


@dataclass(frozen=True)
class _Optimistic(EntropyMinimizer):
    tables: ClassVar[tuple[str, ...]] = ("weight", "ahead")

    @property
    def moves_everywhere(self) -> bool:
        """A prediction of 0 at an infoset differs from the one before."""
        return True


@dataclass(frozen=True)
class OptimisticFTRL(_Optimistic):
    """FTRL that plays as if the last gradient came again: L += G;
    b = softmax(eta (L + G) / beta) (Farina, Kroer, Sandholm 2019)."""

    rule: ClassVar[str] = "optimistic_ftrl"


@dataclass(frozen=True)
class OptimisticOMD(_Optimistic):
    """OMD that plays as if the last gradient came again: z ~ z exp(eta G / beta);
    b ~ z exp(eta G / beta) (Farina, Kroer, Sandholm 2019)."""

    rule: ClassVar[str] = "optimistic_omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(EntropyMinimizer):
    """b ~ (b rho^(eta alpha) exp(eta G / beta)) ^ (1 / (1 + eta alpha)), with the
    uniform policy rho as the magnet (Sokota et al. 2023).

    Its last iterate converges, so look at the current policy, too. With a constant
    temperature that is the equilibrium of the game with entropy as a part of the
    payoffs; with one that falls, of the game itself.

    Attributes:
        step_size: eta in the first iteration.
        weights: as of other rules with dilated entropy.
        temperature: alpha in the first iteration.
        step_power, temperature_power: in iteration t each is divided by t to this
            power.
    """

    temperature: float = 1.0
    step_power: float = 0.0
    temperature_power: float = 0.0
    rule: ClassVar[str] = "mmd"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fill(temperature=refusals.number(self.temperature, "temperature", 0, 1e10))
        for name in ("step_power", "temperature_power"):
            self.fill(**{name: refusals.number(getattr(self, name), name, 0, 1)})

    @property
    def parameters(self) -> tuple[float, ...]:
        """The step size, the temperature, the powers."""
        powers = self.step_power, self.temperature_power
        return self.step_size, self.temperature, *powers

    @property
    def moves_everywhere(self) -> bool:
        """The magnet pulls everywhere."""
        return True


def ftrl(step_size: float, *, weights: str = "constant") -> FTRL:
    """Follow the regularized leader with dilated entropy, see `FTRL`."""
    return FTRL(step_size, weights)


def omd(step_size: float, *, weights: str = "constant") -> OMD:
    """Online mirror descent with dilated entropy, see `OMD`."""
    return OMD(step_size, weights)


def optimistic_ftrl(step_size: float, *, weights: str = "constant") -> OptimisticFTRL:
    """Optimistic FTRL with dilated entropy, see `OptimisticFTRL`."""
    return OptimisticFTRL(step_size, weights)


def optimistic_omd(step_size: float, *, weights: str = "constant") -> OptimisticOMD:
    """Optimistic OMD with dilated entropy, see `OptimisticOMD`."""
    return OptimisticOMD(step_size, weights)


def magnetic_mirror_descent(
    step_size: float,
    temperature: float,
    *,
    weights: str = "constant",
    step_power: float = 0.0,
    temperature_power: float = 0.0,
) -> MagneticMirrorDescent:
    """Magnetic mirror descent, see `MagneticMirrorDescent`."""
    return MagneticMirrorDescent(
        step_size, weights, temperature, step_power, temperature_power
    )


mmd = magnetic_mirror_descent
