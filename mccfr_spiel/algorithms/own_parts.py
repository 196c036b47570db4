"""Rules, estimators and averages that users write as functions.

| function | result | replaces |
|---|---|---|
| own_rule | OwnRule | the local rule |
| own_estimator | OwnEstimator | the sampling |
| own_averaging | OwnAveraging | the average |

Files do not contain functions. They contain the name and a digest of the source, so a
saved solver is loaded with the function as an argument.
"""

import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_spiel.algorithms.averages import Averaging
from mccfr_spiel.algorithms.minimizer import Minimizer
from mccfr_spiel.algorithms.part import Part
from mccfr_spiel.algorithms.samplings import Sampling
from mccfr_spiel.common import refusals
from mccfr_spiel.common.functions import digest_of, name_of

MOST_OWN_WEIGHT = 1e270
"""Maximum weight of an iteration in an average, so that 1e20 weights fit a double."""

Estimate = Callable[[Any, np.ndarray, int, np.random.Generator], tuple[Any, int]]
"""Type of the function that `own_estimator` takes."""


class OwnPart(Part):
    """The base class of parts that contain a user's function.

    Attributes:
        key: name of the field with the function, also in files.
        maker: name of the function that creates the part.
        arguments: names of the arguments of the user's function.
        digest: digest of the function's source, see `digest_of`.
    """

    digest: str
    key: ClassVar[str] = ""
    maker: ClassVar[str] = ""
    arguments: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        value, arguments = getattr(self, self.key), self.arguments
        function = getattr(value, "py_func", value)
        if not isinstance(function, types.FunctionType):
            raise ValueError(f"{self.key}={value!r} must be a function.")
        count = function.__code__.co_argcount
        if count != len(arguments):
            name = f"{function.__module__}.{function.__qualname__}"
            raise ValueError(
                f"{self.key}={name} must have the arguments {', '.join(arguments)}. "
                f"It has {count}."
            )
        # Processes that receive the function as bytecode cannot read the source.
        self.fill(**{self.key: function}, digest=digest_of(function))

    def __repr__(self) -> str:
        """Returns the call by which files identify the part."""
        fields = {k: v for k, v in self.changed().items() if k != self.key}
        fields["source"] = self.digest
        values = [repr(self.name), *(f"{k}={v!r}" for k, v in fields.items())]
        return f"{self.maker}({', '.join(values)})"

    @property
    def function(self) -> types.FunctionType:
        """The user's function."""
        return getattr(self, self.key)

    @property
    def name(self) -> str:
        """The name of the function with its module, as `module:name`."""
        return name_of(self.function)


_TRIED_ACTIONS = 1, 2, 3
"""Numbers of actions with which a rule is tried before it is compiled."""


@dataclass(frozen=True, repr=False)
class OwnRule(OwnPart, Minimizer):
    """A rule that a user has written as a function; `own_rule` creates it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: argument `parameters` of the function.
        compiled: whether numba compiles the function.
        everywhere: whether it also moves the policy where the gradient is 0.

    Raises:
        ValueError: `update` is not a function of five arguments, or uses an index
            outside an array, or a number is not finite.
    """

    update: Callable[..., float]
    numbers: tuple[float, ...] = ()
    compiled: bool = True
    everywhere: bool = False
    key: ClassVar[str] = "update"
    maker: ClassVar[str] = "own_rule"
    arguments = "policy", "memory", "gradient", "parameters", "t"
    rule: ClassVar[str] = "own_rule"
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        numbers = tuple(
            refusals.number(n, "parameters", -1e300, 1e300) for n in self.numbers
        )
        super().__post_init__()
        self.fill(numbers=numbers)
        if self.compiled:
            self._check_bounds()

    def _check_bounds(self) -> None:
        """Calls the function in plain Python, once for each of several array sizes.

        Compiled code does not check indices, so a rule that reads beyond `parameters`
        would read other memory without an error. Other exceptions are left to updates.

        Raises:
            ValueError: the function uses an index outside an array.
        """
        for count in _TRIED_ACTIONS:
            policy, memory = np.full(count, 1 / count), np.zeros(count)
            gradient, numbers = np.linspace(0.5, -0.5, count), np.array(self.numbers)
            try:
                with np.errstate(all="ignore"):
                    self.update(policy, memory, gradient, numbers, 1)
            except IndexError as error:
                name = self.function.__name__
                raise ValueError(
                    f"{self.name} uses an index outside an array, for {count} actions "
                    f"and parameters={self.numbers}: {error}. If parameters are "
                    f"missing, pass own_rule({name}, parameters=(...,)). On the "
                    "command line, pass such an object as --minimizer=MODULE:NAME."
                ) from error
            except Exception:  # left to the updates
                return

    def __str__(self) -> str:
        numbers = ", ".join(f"{n:g}" for n in self.numbers)
        name = self.function.__name__
        return f"{name} ({numbers})" if numbers else name

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """The user's value `everywhere`."""
        return self.everywhere


@dataclass(frozen=True, repr=False)
class OwnEstimator(OwnPart, Sampling):
    """An estimator that a user has written; `own_estimator` creates it.

    Attributes:
        estimate: the function, see `own_estimator`.

    Raises:
        ValueError: `estimate` is not a function of four arguments.
    """

    chance: bool = False
    opponents: bool = False
    estimate: Any = None
    key: ClassVar[str] = "estimate"
    maker: ClassVar[str] = "own_estimator"
    arguments = "tree", "policy", "player", "rng"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chance_draws != "independent":
            raise ValueError(
                f"chance_draws={self.chance_draws!r} requires a sampling of the "
                f"package; {self.name} makes its own draws. Drop chance_draws."
            )

    def __str__(self) -> str:
        return self.function.__name__


@dataclass(frozen=True, repr=False)
class OwnAveraging(OwnPart, Averaging):
    """Weights of an average that a user has written; `own_averaging` creates it.

    Attributes:
        weight: the function, see `own_averaging`.

    Raises:
        ValueError: `weight` is not a function of one argument.
    """

    weight: Any = None
    key: ClassVar[str] = "weight"
    maker: ClassVar[str] = "own_averaging"
    arguments = ("t",)

    def __str__(self) -> str:
        return f"{self.function.__name__} average"

    def weights(self, first: int, count: int) -> np.ndarray:
        """Returns the weights of the iterations from `first` on, `[count]`.

        Raises:
            ValueError: a weight is not a number in [0, MOST_OWN_WEIGHT].
        """
        weights = np.zeros(count)
        for k in range(count):
            name = f"{self.name}({first + k})"
            weight = self.function(first + k)
            weights[k] = refusals.number(weight, name, 0, MOST_OWN_WEIGHT)
        return weights


OWN_KINDS: dict[str, type[OwnPart]] = {
    "minimizer": OwnRule,
    "sampling": OwnEstimator,
    "averaging": OwnAveraging,
}
"""Classes of users' parts, by the name of the field of `Algorithm`."""


def own_parts_of(algorithm: Any) -> dict[str, OwnPart]:
    """Returns the users' parts of an algorithm, by the name of the field."""
    parts = algorithm._asdict()
    return {name: part for name, part in parts.items() if isinstance(part, OwnPart)}


def own_rule(
    update: Callable[..., float],
    parameters: Sequence[float] = (),
    *,
    compiled: bool = True,
    everywhere: bool = False,
) -> OwnRule:
    """Creates a rule from a function of one infoset.

        def update(policy, memory, gradient, parameters, t):
            value = np.dot(policy, gradient)
            memory += gradient - value
            ...  # writes the next policy into `policy`
            return value

    The function is called at each infoset to be updated. All arrays are float64, with
    one entry per action. The function writes the next policy, whose sum must be 1, into
    `policy[:]`. It may keep anything in `memory`, which is 0 at first. It returns the
    value of the infoset, which is added to the gradient of the parent sequence. For
    regret minimizers that is `<policy before, gradient>`. `evaluation.check_rule` tests
    the function.

    The rule works with every sampling, but not with abstractions. A saved solver is
    loaded with `Solver.load(path, minimizer=...)`, because files do not contain
    functions. If the function raises an exception, returns a value that is not finite,
    or writes probabilities that are negative or do not sum to 1 within 1e-6, `iterate`
    raises, and the solver can no longer be used. Create it again, or load a checkpoint.

    Args:
        update: the function. `numba.njit` must support it. The compiled code is cached
            on disk until the file of the function changes, unless the function has
            variables of an enclosing function or was entered at a prompt.
        parameters: numbers passed to the function as an array.
        compiled: False calls `update` as plain Python, with NumPy or anything else,
            some hundred times slower.
        everywhere: whether the rule also moves the policy where the gradient is 0. It
            then requires FULL.

    Raises:
        ValueError: see `OwnRule`.
    """
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise ValueError(
            f"parameters={parameters!r} must be a sequence of numbers, such as (0.5,)."
        )
    numbers = refusals.numbers(tuple(parameters), "parameters")
    return OwnRule(update, tuple(numbers.tolist()), compiled, everywhere)


def own_estimator(estimate: Estimate) -> OwnEstimator:
    """Creates an estimator from a function. It replaces the sampling.

        def estimate(tree, policy, player, rng):
            gradient = np.zeros(tree.num_sequences)
            ...
            return gradient, nodes_touched

        ms.Solver("leduc_poker", ms.Algorithm(own_estimator(estimate), rule))

    The function is called before each update of a player. It is not compiled, so it
    determines the time of an iteration. It works with any rule and any average, but not
    with batches, abstractions and clusters. A saved solver is loaded with
    `Solver.load(path, sampling=...)`, because files do not contain functions.

    Args:
        estimate: the function. `tree` is the complete GameTree. `policy` `[S]` has the
            probabilities of all players' sequences; it must not change. `rng` is a
            NumPy generator that depends on the seed, the iteration and the player. The
            function returns the gradient `[S]` and the number of touched nodes. At each
            sequence of the player, the expectation of the gradient must be the sum over
            the leaves right after the sequence: the player's utility times the reach
            probability of chance and the other players. Elsewhere the gradient must be
            0. If it has another shape, is not finite, or is not 0 at a sequence of
            another player, `iterate` raises ValueError and the solver stays as before
            that update.
    """
    return OwnEstimator(estimate=estimate)


def own_averaging(weight: Callable[[int], float]) -> OwnAveraging:
    """Creates an average in which iteration t has weight `weight(t)`.

        average = ms.algorithms.own_averaging(lambda t: t - t % 2)
        ms.Solver("leduc_poker", ms.CFR_PLUS._replace(averaging=average))

    The function is plain Python and is called once for each iteration from 1 on, some
    iterations ahead. It does not work with clusters and bounds of theory. A saved
    solver is loaded with `Solver.load(path, averaging=...)`, because files do not
    contain functions.

    Args:
        weight: returns a number in [0, 1e270]. The average policy is uniform until a
            weight is positive.
    """
    return OwnAveraging(weight=weight)
