"""Rules, estimators and averages that users write as functions.

| call | result | part of the algorithm |
|---|---|---|
| own_rule(function) | OwnRule | minimizer: the local rule |
| own_estimator(function) | OwnEstimator | sampling |
| own_averaging(function) | OwnAveraging | averaging |

Files do not contain functions, but the name of a function and a hash of its source. To
load a saved solver, the same function must be passed as an argument.
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
"""Maximum weight of an iteration. The sum of 1e20 such weights still fits a double."""

Estimate = Callable[[Any, np.ndarray, int, np.random.Generator], tuple[Any, int]]
"""The type of the argument of `own_estimator`."""


class OwnPart(Part):
    """Base class of parts that contain a user's function.

    Attributes:
        key: name of the field with the user's function.
        maker: name of the public function that creates the part, such as "own_rule".
        arguments: names of the arguments that the user's function must have.
        digest: hash of the source of the user's function, see `digest_of`.
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
        # The hash is computed now, because another process that receives the function
        # as bytecode cannot read the source.
        self.fill(**{self.key: function}, digest=digest_of(function))

    def __repr__(self) -> str:
        """Returns a text such as `own_rule('module:name', source='0123...')`, by which
        files identify the function."""
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
"""Numbers of actions for which a user's rule is called once before it is compiled."""


@dataclass(frozen=True, repr=False)
class OwnRule(OwnPart, Minimizer):
    """A rule that a user has written as a function; `own_rule` creates it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: the numbers that the function receives as its argument `parameters`.
        compiled: whether numba compiles the function.
        everywhere: whether the function also changes the policy at infosets whose
            gradient is 0.

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
        Minimizer.__post_init__(self)  # OwnPart does not call it
        self.fill(numbers=numbers)
        if self.compiled:
            self._check_bounds()

    def _check_bounds(self) -> None:
        """Calls the function in plain Python, for 1, 2 and 3 actions.

        Compiled code does not check indices, so a rule that reads beyond the end of
        `parameters` would read other memory without an error. Other exceptions than
        IndexError are ignored here and left to the first update.

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
            except Exception:  # left to the first update
                return

    def __str__(self) -> str:
        values = [f"{n:g}" for n in self.numbers]
        if self.tremble:
            values.append(f"tremble {self.tremble:g}")
        name = self.function.__name__
        return f"{name} ({', '.join(values)})" if values else name

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers that the function receives as its argument `parameters`."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """Whether the function also changes the policy where the gradient is 0."""
        return self.everywhere


@dataclass(frozen=True, repr=False)
class OwnEstimator(OwnPart, Sampling):
    """A gradient estimator that a user has written; `own_estimator` creates it.

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
        """Returns the weights `[count]` of the iterations from `first` on.

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
"""Name of a field of `Algorithm` -> class of the user's parts for this field."""


def own_parts_of(algorithm: Any) -> dict[str, OwnPart]:
    """Returns the parts of an algorithm that users have written: field name -> part."""
    parts = algorithm._asdict()
    return {name: part for name, part in parts.items() if isinstance(part, OwnPart)}


def own_rule(
    update: Callable[..., float],
    parameters: Sequence[float] = (),
    *,
    compiled: bool = True,
    everywhere: bool = False,
) -> OwnRule:
    """Creates a rule from a function that updates the policy at one infoset.

        def update(policy, memory, gradient, parameters, t):
            value = np.dot(policy, gradient)
            memory += gradient - value
            ...  # writes the next policy into `policy`
            return value

    In each update, the function is called once for each infoset to be updated. The
    arguments `policy`, `memory` and `gradient` are float64 arrays with one element per
    action; `parameters` is a float64 array, and `t` is the iteration. The function
    writes the next policy, whose sum must be 1, into `policy[:]`. It may store anything
    in `memory`, which is 0 at first. It returns the value of the infoset, which is
    added to the gradient of the parent sequence. For regret minimizers the value is the
    scalar product of the gradient and the policy before the call.
    `evaluation.check_rule` tests such a function.

    The rule works with every sampling, but not with abstractions. A saved solver is
    loaded with `Solver.load(path, minimizer=...)`, because files do not contain
    functions. If the function raises an exception, returns a value that is not finite,
    or writes probabilities that are negative or do not sum to 1 within 1e-6, then
    `iterate` raises an error, and the solver can no longer be used. Make a new solver,
    or load a checkpoint.

    Args:
        update: the function. `numba.njit` must support it. The compiled code is cached
            on disk until the file of the function changes, unless the function has
            variables of an enclosing function or was entered at a prompt.
        parameters: numbers passed to the function as an array.
        compiled: False calls `update` in plain Python. The function may then use any
            Python code, but is some hundred times slower.
        everywhere: whether the rule also changes the policy at infosets whose gradient
            is 0. Such a rule requires the sampling FULL.

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
    """Creates an estimator of gradients from a function; it replaces the sampling.

        def estimate(tree, policy, player, rng):
            gradient = np.zeros(tree.num_sequences)
            ...
            return gradient, nodes_touched

        ms.Solver("leduc_poker", ms.Algorithm(own_estimator(estimate), rule))

    The function is called before each update of a player. It runs in plain Python, so
    most of the time of an iteration is usually spent in it. It works with any rule and
    any average, but not with batches, abstractions and clusters. A saved solver is
    loaded with `Solver.load(path, sampling=...)`, because files do not contain
    functions.

    Args:
        estimate: the function. `tree` is the complete GameTree. `policy` `[S]` contains
            the probabilities of all players' sequences, and is read-only. `player` is
            the player to be updated. `rng` is a NumPy generator that depends on the
            seed, the iteration and the player. The function returns an estimate of the
            player's gradient `[S]`, and the number of touched nodes. At a sequence of
            the player, the expected value of the estimate must be a sum over the leaves
            before which the sequence is the player's last sequence. The term of a leaf
            is the player's utility times the probability that chance and the other
            players reach the leaf. At sequences of other players the estimate must be
            0. If it has another shape, is not finite, or is not 0 at a sequence of
            another player, `iterate` raises ValueError, and the solver stays in the
            state before this update.
    """
    return OwnEstimator(estimate=estimate)


def own_averaging(weight: Callable[[int], float]) -> OwnAveraging:
    """Creates an average in which iteration t has weight `weight(t)`.

        average = ms.algorithms.own_averaging(lambda t: t - t % 2)
        ms.Solver("leduc_poker", ms.CFR_PLUS._replace(averaging=average))

    The function runs in plain Python. It is called for each iteration from 1 on, up to
    about a thousand iterations in advance. Clusters, and the theoretical bounds in
    `ms.theory`, do not support such averages. A saved solver is loaded with
    `Solver.load(path, averaging=...)`, because files do not contain functions.

    Args:
        weight: a function of the iteration that returns a number in [0, 1e270]. The
            average policy is uniform until a weight is positive.
    """
    return OwnAveraging(weight=weight)
