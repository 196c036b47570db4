"""A user's own rule, written as a function of one infoset."""

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_spiel import refusals
from mccfr_spiel.algorithms.minimizers import Minimizer


@dataclass(frozen=True, repr=False)
class OwnRule(Minimizer):
    """A rule that a user has written as a function; `own_rule` makes it.

    Attributes:
        update: the function, see `own_rule`.
        numbers: what it gets as `parameters`.
        compiled: whether numba compiles it.
        everywhere: whether it moves the policy where the gradient is 0, too.

    Raises:
        ValueError: `update` is no function of five arguments, or a number is not
            finite.
    """

    update: Callable[..., float]
    numbers: tuple[float, ...] = ()
    compiled: bool = True
    everywhere: bool = False
    rule: ClassVar[str] = "own_rule"
    tables: ClassVar[tuple[str, ...]] = ("log_positive", "log_negative")

    def __post_init__(self) -> None:
        function: Any = getattr(self.update, "py_func", self.update)
        if not isinstance(function, types.FunctionType):
            raise ValueError(f"update={self.update!r} is not a function.")
        count = function.__code__.co_argcount
        if count != 5:
            raise ValueError(
                f"update={self.name} takes {count} arguments, not the five policy, "
                "memory, gradient, parameters, t."
            )
        numbers = tuple(
            refusals.number(number, "parameters", -1e300, 1e300)
            for number in self.numbers
        )
        self.fill(update=function, numbers=numbers)

    @property
    def name(self) -> str:
        """The function's name with that of its module."""
        function: Any = getattr(self.update, "py_func", self.update)
        return f"{function.__module__}.{function.__qualname__}"

    def __repr__(self) -> str:
        return self.spelled(self.rule).replace(repr(self.update), self.name)

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self.numbers)
        return (
            f"{self.update.__name__} ({numbers})" if numbers else self.update.__name__
        )

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers."""
        return self.numbers

    @property
    def moves_everywhere(self) -> bool:
        """As the user says."""
        return self.everywhere


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
    that led there: for regret minimizers, <policy before, gradient>. `evaluation.
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
    return OwnRule(update, tuple(parameters), compiled, everywhere)
