"""Rules, estimators and averages written by users as functions."""

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
from mccfr_spiel.common.checkpoint import digest_of, name_of

MOST_OWN_WEIGHT = 1e270
"""Of an iteration in an average; so 1e20 of them add up to a double."""

Estimate = Callable[[Any, np.ndarray, int, np.random.Generator], tuple[Any, int]]
"""What `own_estimator` takes."""


class OwnPart(Part):
    """What parts that are functions of a user's have in common.

    Attributes:
        key: the field that holds the function, and its name in files.
        maker: what makes the part of the function.
        arguments: of the function.
        digest: see `digest_of`.
    """

    digest: str
    key: ClassVar[str] = ""
    maker: ClassVar[str] = ""
    arguments: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        given, arguments = getattr(self, self.key), self.arguments
        function = getattr(given, "py_func", given)
        if not isinstance(function, types.FunctionType):
            raise ValueError(f"{self.key}={given!r} is not a function.")
        count = function.__code__.co_argcount
        if count != len(arguments):
            name = f"{function.__module__}.{function.__qualname__}"
            raise ValueError(
                f"{self.key}={name} takes {count} arguments, not the {len(arguments)} "
                f"{', '.join(arguments)}."
            )
        # Another process that gets the function by value does not have its source.
        self.fill(**{self.key: function}, digest=digest_of(function))

    def __repr__(self) -> str:
        """The call by which files name the part."""
        fields = {k: v for k, v in self.changed().items() if k != self.key}
        more = (fields | {"source": self.digest}).items()
        values = [repr(self.name), *(f"{key}={value!r}" for key, value in more)]
        return f"{self.maker}({', '.join(values)})"

    @property
    def function(self) -> types.FunctionType:
        """The user's function."""
        return getattr(self, self.key)

    @property
    def name(self) -> str:
        """The function's name with that of its module, `module:name`."""
        return name_of(self.function)


_TRIED_ACTIONS = 1, 2, 3
"""Sizes of the information sets at which a rule is tried before it is compiled."""


@dataclass(frozen=True, repr=False)
class OwnRule(OwnPart, Minimizer):
    """A rule that a user has written as a function; `own_rule` makes it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: what it gets as `parameters`.
        compiled: whether numba compiles it.
        everywhere: whether it moves the policy where the gradient is 0, too.

    Raises:
        ValueError: `update` is no function of five arguments, or it uses an index
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
            refusals.number(number, "parameters", -1e300, 1e300)
            for number in self.numbers
        )
        super().__post_init__()
        self.fill(numbers=numbers)
        if self.compiled:
            self._check_bounds()

    def _check_bounds(self) -> None:
        """Calls the function once in plain Python for each of several array sizes.

        Compiled code checks no index, so a rule that reads beyond `parameters` would
        read foreign memory without an error. Other exceptions are left to updates.

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
                    f"{self.name} uses an index outside an array, at an information "
                    f"set of {count} actions and with parameters={self.numbers}: "
                    f"{error}. Pass the parameters: own_rule({name}, "
                    "parameters=(...,)). A command takes such an object as "
                    "--minimizer=MODULE:NAME."
                ) from error
            except Exception:  # rules raise what they like
                return

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self.numbers)
        name = self.function.__name__
        return f"{name} ({numbers})" if numbers else name

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """As the user says."""
        return self.everywhere


@dataclass(frozen=True, repr=False)
class OwnEstimator(OwnPart, Sampling):
    """An estimator that a user has written; `own_estimator` makes it.

    Attributes:
        estimate: the function, see `own_estimator`.

    Raises:
        ValueError: `estimate` is no function of four arguments.
    """

    chance: bool = False
    opponents: bool = False
    estimate: Any = None
    key: ClassVar[str] = "estimate"
    maker: ClassVar[str] = "own_estimator"
    arguments = "tree", "policy", "player", "rng"

    def __str__(self) -> str:
        return self.function.__name__


@dataclass(frozen=True, repr=False)
class OwnAveraging(OwnPart, Averaging):
    """Weights of an average that a user has written; `own_averaging` makes it.

    Attributes:
        weight: the function, see `own_averaging`.

    Raises:
        ValueError: `weight` is no function of one argument.
    """

    weight: Any = None
    key: ClassVar[str] = "weight"
    maker: ClassVar[str] = "own_averaging"
    arguments = ("t",)

    def __str__(self) -> str:
        return f"{self.function.__name__} average"

    def weights(self, first: int, count: int) -> np.ndarray:
        """`[count]` the weights of the iterations from `first` on.

        Raises:
            ValueError: one of them is no number in [0, MOST_OWN_WEIGHT].
        """
        found = np.zeros(count)
        for k in range(count):
            name = f"{self.name}({first + k})"
            weight = self.function(first + k)
            found[k] = refusals.number(weight, name, 0, MOST_OWN_WEIGHT)
        return found


OWN_KINDS: dict[str, type[OwnPart]] = {
    "minimizer": OwnRule,
    "sampling": OwnEstimator,
    "averaging": OwnAveraging,
}
"""The parts of an algorithm, and their kinds if they are functions of a user's."""


def own_parts_of(algorithm: Any) -> dict[str, OwnPart]:
    """The parts that are a user's functions, which files do not hold, by the names of
    the parts."""
    parts = algorithm._asdict()
    return {name: one for name, one in parts.items() if isinstance(one, OwnPart)}


def own_rule(
    update: Callable[..., float],
    parameters: Sequence[float] = (),
    *,
    compiled: bool = True,
    everywhere: bool = False,
) -> OwnRule:
    """A rule of your own as a function of one infoset.

        def update(policy, memory, gradient, parameters, t):
            value = np.dot(policy, gradient)
            memory += gradient - value
            ...  # writes the next policy into `policy`
            return value

    The function is called where an infoset is updated. All arrays are float64 with a
    number for each action of the infoset; it writes the next policy, whose sum must be
    1, into `policy[:]`, and may keep what it likes in `memory`, which is 0 at first. It
    returns the value of the infoset, which is added to the gradient of the sequence
    that led there: for regret minimizers, `<policy before, gradient>`. `evaluation.
    check_rule` tries it out.

    Such a rule goes with every sampling. Abstractions are refused, and a saved solver
    is loaded with `Solver.load(path, minimizer=...)`, since no file holds a function.
    If the function raises an exception, writes probabilities that are below 0 or do not
    sum to 1 within 1e-6, or returns no finite number, `iterate` raises, and the solver
    can do nothing more: make it anew, or load a checkpoint.

    Args:
        update: the function. It is compiled by numba, so it must be of the kind that
            `numba.njit` takes. The code is kept on disk until the function's file
            changes, unless it has variables of an outer function or was typed into a
            prompt.
        parameters: numbers that it gets as an array `parameters`.
        compiled: False calls `update` as plain Python, with NumPy or anything else.
            That is some hundred times slower.
        everywhere: whether the rule moves the policy where the gradient is 0, too; it
            then needs FULL.
    """
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise ValueError(f"parameters={parameters!r} is no list, such as (0.5,).")
    numbers = refusals.numbers(tuple(parameters), "parameters")
    return OwnRule(update, tuple(numbers.tolist()), compiled, everywhere)


def own_estimator(estimate: Estimate) -> OwnEstimator:
    """An estimator of your own, in the place of a sampling.

        def estimate(tree, policy, player, rng):
            gradient = np.zeros(tree.num_sequences)
            ...
            return gradient, nodes_touched

        ms.Solver("leduc_poker", ms.Algorithm(own_estimator(estimate), rule))

    The function is called before each update of a player. It is plain Python, so an
    iteration takes as long as it does. Any rule and any average go with it; batches,
    abstractions and clusters do not. A saved solver is loaded with
    `Solver.load(path, sampling=...)`, since no file holds a function.

    Args:
        estimate: the function. `tree` is the complete GameTree, and `policy` `[S]` the
            probabilities of all players' sequences, which it must not change; `rng` is
            a NumPy generator made of the seed, the iteration and the player. It returns
            the gradient `[S]`, and how many nodes it has touched. The gradient has, at
            each of the player's sequences, the weighted utility of the leaves that
            follow it directly, on average that of the policies, and is 0 elsewhere. If
            it has another shape, is not finite or is not 0 at another's sequence,
            `iterate` raises ValueError, and the solver stands before that update.
    """
    return OwnEstimator(estimate=estimate)


def own_averaging(weight: Callable[[int], float]) -> OwnAveraging:
    """An average of your own: iteration t enters it with weight `weight(t)`.

        average = ms.algorithms.own_averaging(lambda t: t - t % 2)
        ms.Solver("leduc_poker", ms.CFR_PLUS._replace(averaging=average))

    The function is plain Python, called once for each iteration from 1 on, and some
    iterations ahead. A saved solver is loaded with `Solver.load(path, averaging=...)`,
    since no file holds a function. Clusters are refused, and so are bounds of theory.

    Args:
        weight: gives a number in [0, 1e270]. Until one is above 0, the average policy
            is uniform.
    """
    return OwnAveraging(weight=weight)
