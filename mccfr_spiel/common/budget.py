"""A memory budget in bytes for a tree, the solvers on it and its evaluations.

Each `GameTree` has a `Budget`. The bytes of arrays and strings are taken from the
budget before they are allocated, because their sizes are known. The size of other
objects, such as the C++ states of a game, is unknown; it is measured by the growth of
the process.
"""

import collections
from collections.abc import Callable

from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import free_memory, in_words, parse_bytes


class TreeFullError(ValueError):
    """A tree would have more than its `max_nodes` nodes."""


class MemoryBudgetError(TreeFullError):
    """An allocation would exceed `max_memory`."""


class TimeIsOverError(Exception):
    """The time of a Budget is over, see `Budget.is_over`."""


def never() -> bool:
    """Returns False: the time of a budget without a time limit."""
    return False


class Budget:
    """The bytes that a tree, its solvers and its evaluations may allocate together.

    Attributes:
        limit: the total number of bytes.
        left: the bytes that are still free. A measurement may make it negative.
        held: name -> bytes, for amounts that change over time and are set by `hold` or
            `record`, such as the bytes of all nodes.
        per_infoset: bytes that each infoset needs in the tree and in the tables of all
            its solvers, including copies of policies and free rows of growing arrays.
        per_sequence: bytes that each sequence needs, in the same way.
        is_default: whether the limit is the default, half of the free memory.
        is_over: whether the time for growing is over. Growing then stops like after
            Ctrl-C, with TimeIsOverError.
    """

    def __init__(
        self, max_memory: int | float | str | None = None, *, note: str = ""
    ) -> None:
        """Makes a budget of which nothing has been taken.

        Args:
            max_memory: the limit, see `parse_bytes`; None for half of `free_memory()`.
            note: the origin of the limit, appended to it in error messages.

        Raises:
            ValueError: `max_memory` is not a size.
        """
        self.is_over: Callable[[], bool] = never
        self.is_default = max_memory is None
        if max_memory is None:
            max_memory = max(free_memory() // 2, 1)
            note = ", half of the memory that was free"
        self._note = note
        self.limit = self.left = parse_bytes(max_memory)
        self.per_infoset = 0
        self.per_sequence = 0
        self.held: collections.Counter[str] = collections.Counter()

    def renewed(self) -> "Budget":
        """A new budget with the same limit, of which nothing has been taken."""
        budget = Budget(self.limit, note=self._note)
        budget.is_default, budget.is_over = self.is_default, self.is_over
        return budget

    def rest(self) -> "Budget":
        """A new budget of the bytes that are left, for work that may fail."""
        budget = Budget(max(self.left, 1), note=", which others left")
        budget.is_over = self.is_over
        return budget

    @property
    def taken(self) -> int:
        """The bytes in use."""
        return self.limit - self.left

    def bytes_of_rows(self, num_infosets: int, num_sequences: int) -> int:
        """Bytes that a number of infosets and sequences need, see `per_infoset`."""
        return self.per_infoset * num_infosets + self.per_sequence * num_sequences

    def check_time(self) -> None:
        """Raises TimeIsOverError if the time is over."""
        if self.is_over():
            raise TimeIsOverError

    def require(self, size: int, what: str) -> None:
        """Checks that `size` bytes are left, without taking them.

        Args:
            size: the number of bytes.
            what: the beginning of the error message: a subject and a verb, such as "A
                solver's tables take".

        Raises:
            MemoryBudgetError: fewer bytes are left.
            TimeIsOverError: the time is over.
        """
        self.check_time()
        if size > self.left:
            raise MemoryBudgetError(
                f"{what} {in_words(size)}, but only {in_words(self.left)} of "
                f"{self.in_words()} are left. Raise max_memory if memory allows."
            )

    def take(self, size: int, what: str = "This takes") -> None:
        """Takes `size` bytes, or returns them if `size` is negative.

        Args:
            size: the number of bytes.
            what: see `require`.

        Raises:
            MemoryBudgetError: fewer bytes are left; nothing has changed.
        """
        if size > 0:
            self.require(size, what)
        self.left -= size

    def hold(self, name: str, size: int) -> None:
        """Sets the bytes of a named amount, which replace its previous bytes.

        Args:
            name: the key in `held`.
            size: the new number of bytes.

        Raises:
            MemoryBudgetError: the additional bytes are not left; nothing has changed.
        """
        if size > self.held[name]:
            self.require(size - self.held[name], f"{name} would take")
        self.record(name, size)

    def record(self, name: str, size: int) -> None:
        """Sets the bytes of a named amount that is already allocated.

        It is not refused, so `left` may become negative.
        """
        self.left -= size - self.held[name]
        self.held[name] = size

    def in_words(self) -> str:
        """The limit, for messages."""
        size = in_words(self.limit)
        return f"max_memory={self.limit:,} bytes ({size}{self._note})"


MaxMemory = int | float | str | Budget | None
"""The types of the argument `max_memory`: bytes, a string such as "4GiB", a Budget that
no tree uses yet, or None for half of the free memory."""


def make_budget(max_memory: MaxMemory) -> Budget:
    """Returns `max_memory` if it is a Budget, else a new Budget with that limit."""
    return max_memory if isinstance(max_memory, Budget) else Budget(max_memory)


def too_many_nodes(game: object, max_nodes: int) -> TreeFullError:
    """The error for a tree with more than `max_nodes` nodes."""
    return TreeFullError(
        f"{brief(game)} has more than max_nodes={max_nodes} nodes. Raise max_nodes if "
        "memory allows (16 bytes per node, up to 100 during expansion), or use "
        "external or outcome sampling, which store only visited nodes (on the command "
        "line with --evaluate=sampled)."
    )


def budget_full(what: str, budget: Budget) -> MemoryBudgetError:
    """The error for a tree that fills its budget.

    Args:
        what: the beginning of the message: the parts that fill the budget.
        budget: the budget.
    """
    return MemoryBudgetError(
        f"{what} fill {budget.in_words()}. Use outcome sampling or external sampling, "
        "which store only visited nodes (on the command line with --evaluate=sampled), "
        "or raise max_memory if memory allows."
    )
