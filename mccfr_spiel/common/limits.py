"""A budget of memory in bytes: what is free, what is taken, and what does not fit.

Each `GameTree` has a `Budget`, and whatever is made of the tree (a solver's tables, the
list of leaves, a payoff matrix) takes its bytes from it. Most of them are counted,
since the sizes of arrays and strings are known before these are made. What cannot be
counted, such as the C++ states that a game keeps, is measured by how much the process
grows.

How large a tree is, is estimated before it is expanded (Knuth 1975). A random history,
each of whose moves is chosen uniformly, estimates the size of the whole tree without
bias: each of its nodes stands for as many nodes as the product of the numbers of moves
above it. A single estimate is unreliable, mostly far too low and rarely far too high.
So a tree is refused after as many estimates as it takes, see `exceeds`, and the
probability of refusing it wrongly is at most 10^-7.
"""

import contextlib
import math
import mmap
import os
import pathlib
import random
import re
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import psutil

from mccfr_spiel.common.display import brief

_UNITS = ["", "k", "m", "g", "t"]
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)

_CGROUPS = pathlib.Path("/sys/fs/cgroup")
_MEMBERSHIP = pathlib.Path("/proc/self/cgroup")


class TreeFullError(ValueError):
    """A tree would have more than its `max_nodes` nodes."""


class MemoryBudgetError(TreeFullError):
    """Something would take more bytes than its `max_memory`."""


def parse_bytes(size: int | float | str) -> int:
    """The bytes that a number or words such as "4GiB", "500 MB", "2e9" stand for.

    KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB, and K, M, G, T alone, are
    powers of 1024.

    Raises:
        ValueError: they stand for no size above 0.
    """
    try:
        match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
        if match:
            digits, unit, binary, byte = match.groups()
            base = 1000 if byte and not binary else 1024
            value = float(digits) * base ** _UNITS.index(unit.lower())
        else:
            value = math.nan if isinstance(size, bool) else float(size)
        if 1 <= value < math.inf:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"max_memory={size!r} is no size in bytes above 0, such as 2_000_000_000 or "
        '"4GiB".'
    )


def in_words(size: float) -> str:
    """Bytes for readers: three digits and a unit."""
    if size >= 9.995e14:
        return f"10^{math.log10(size) - 9:.0f} GB"
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= 0.9995 * unit:  # what would be 1e+03 of the unit below
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


# --- the machine ----------------------------------------------------------------


def num_cores() -> int:
    """The cores that this process may use."""
    with contextlib.suppress(AttributeError, OSError):  # not on every system
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def free_memory() -> int:
    """The bytes that this process may still take.

    That is the least of what the machine has available, what the control groups
    (containers) of the process leave, and what its own limit of address space
    (RLIMIT_AS) leaves.
    """
    free = [psutil.virtual_memory().available, *cgroups_free(_MEMBERSHIP, _CGROUPS)]
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free.append(limit - psutil.Process().memory_info().vms)
    return max(min(free), 0)


def cgroups_free(membership: pathlib.Path, mount: pathlib.Path) -> list[int]:
    """What each limited control group (version 2) of this process leaves.

    A group's limit also binds the groups inside it, so all groups from the process up
    to the root are asked. Inside a container the path that the kernel names often does
    not exist; then the mounted root is the container's own group. Memory of file caches
    counts as free, since the kernel drops them when needed.

    Args:
        membership: /proc/self/cgroup.
        mount: /sys/fs/cgroup.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    path = next((one[3:] for one in lines if one.startswith("0::")), "/")
    folder = mount / path.lstrip("/")
    above = [folder, *folder.parents]
    groups = above[: above.index(mount) + 1] if mount in above else [mount]
    return [left for left in map(_group_leaves, groups) if left is not None]


def _group_leaves(folder: pathlib.Path) -> int | None:
    """What one group leaves; None if it has no limit, or none that can be read."""
    try:
        most = int((folder / "memory.max").read_text())  # "max": no limit
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    dropped = 0
    with contextlib.suppress(OSError, ValueError):
        words = (folder / "memory.stat").read_text().split()
        dropped = int(words[words.index("inactive_file") + 1])
    return max(most - used + dropped, 0)


def resident() -> int:
    """The bytes of this process that are in memory now."""
    # psutil reads the same file through a Python file object. If Ctrl-C comes before
    # that is closed, it gives a ResourceWarning, and this is called in mid-walk.
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return psutil.Process().memory_info().rss
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * mmap.PAGESIZE


# --- the budget -----------------------------------------------------------------


class Budget:
    """The bytes that a tree, and what is made of it, may take.

    Attributes:
        limit: how many they are.
        left: how many of them nobody has taken. It is below 0 if a measurement found
            more to be taken than had been counted.
        per_infoset, per_sequence: what each infoset and each sequence met takes, in the
            tree and in the tables of all solvers on it. Room for snapshots and for
            arrays that grow is included.
    """

    def __init__(
        self, max_memory: int | float | str | None = None, *, note: str = ""
    ) -> None:
        """Makes a budget from which nothing is taken yet.

        Args:
            max_memory: the bytes, as `parse_bytes` takes them; None for half of
                `free_memory()`.
            note: tells in messages where the limit comes from.

        Raises:
            ValueError: see `parse_bytes`.
        """
        self.is_default = max_memory is None
        if max_memory is None:
            max_memory = max(free_memory() // 2, 1)
            note = ", half of the memory that was free"
        self._note = note
        self.limit = self.left = parse_bytes(max_memory)
        self.per_infoset = 0
        self.per_sequence = 0
        self._held: dict[object, int] = {}

    def renewed(self) -> "Budget":
        """A budget with the same limit, from which nothing is taken."""
        budget = Budget(self.limit, note=self._note)
        budget.is_default = self.is_default
        return budget

    @property
    def taken(self) -> int:
        """The bytes that are not left."""
        return self.limit - self.left

    def hold(self, what: object, size: int) -> None:
        """Says how many bytes something takes now, in place of what it took before.

        Raises:
            MemoryBudgetError: there are not as many left; nothing has changed.
        """
        more = size - self.held(what)
        if more > 0:
            self.require(more, f"{what} would take")
        self.measured(what, size)

    def measured(self, what: object, size: int) -> None:
        """As `hold`, for what exists already, so `left` may fall below 0."""
        self.left -= size - self.held(what)
        self._held[what] = size

    def held(self, what: object) -> int:
        """The bytes that something takes."""
        return self._held.get(what, 0)

    def require(self, size: int, what: str) -> None:
        """Checks that enough bytes are left, and takes none.

        Args:
            size: how many.
            what: words for what takes them, with the verb.

        Raises:
            MemoryBudgetError: they are not.
        """
        if size > self.left:
            raise MemoryBudgetError(
                f"{what} {in_words(size)}, but only {in_words(self.left)} of "
                f"{self.in_words()} are left. Raise max_memory if memory allows."
            )

    def set_rates(self, per_infoset: int, per_sequence: int) -> None:
        """Says what each infoset and each sequence met takes from now on."""
        self.per_infoset, self.per_sequence = per_infoset, per_sequence

    def take(self, size: int) -> None:
        """Takes bytes that the caller has seen to be left, or gives back -size."""
        self.left -= size

    def meet(self, num_infosets: int, num_sequences: int, strings: int) -> None:
        """Takes the bytes of infosets met, tables included; those forgotten are < 0.

        Args:
            num_infosets, num_sequences: how many.
            strings: the bytes of their names.

        Raises:
            MemoryBudgetError: they do not fit; nothing has changed.
        """
        rates = self.per_infoset, self.per_sequence
        size = strings + rates[0] * num_infosets + rates[1] * num_sequences
        if num_infosets > 0:
            self.require(size, f"{num_infosets:,} infosets take")
        self.left -= size

    def add_tables(
        self,
        owner: object,
        per_infoset: int,
        per_sequence: int,
        sizes: Callable[[], tuple[int, int]],
    ) -> None:
        """Counts tables over all infosets and sequences for as long as `owner` lives.

        Args:
            owner: the object that has the tables.
            per_infoset, per_sequence: the bytes for each, and for each met later.
            sizes: returns how many infosets and sequences there are now.

        Raises:
            MemoryBudgetError: the tables do not fit.
        """

        def count(sign: int) -> None:
            num_infosets, num_sequences = sizes()
            size = per_infoset * num_infosets + per_sequence * num_sequences
            if sign > 0:
                self.require(size, "A solver's tables take")
            self.left -= sign * size
            self.per_infoset += sign * per_infoset
            self.per_sequence += sign * per_sequence

        count(1)
        weakref.finalize(owner, count, -1).atexit = False

    def in_words(self) -> str:
        """The limit, for messages."""
        words = in_words(self.limit)
        return f"max_memory={self.limit:,} bytes ({words}{self._note})"


def too_many_nodes(game: object, most: int) -> TreeFullError:
    """The error for a tree of more nodes than there may be."""
    return TreeFullError(
        f"{brief(game)} has more than max_nodes={most} nodes. Raise max_nodes if "
        "memory allows (16 bytes a node, up to 100 while it is expanded), or use "
        "external or outcome sampling, which keep only what they meet (on the command "
        "line with --evaluate=sampled)."
    )


def budget_full(what: str, budget: Budget) -> MemoryBudgetError:
    """The error for a tree of which `what` takes all of its budget."""
    return MemoryBudgetError(
        f"{what} fill {budget.in_words()}. Use outcome sampling or external sampling, "
        "which keep only what they meet (on the command line with --evaluate=sampled), "
        "or raise max_memory if memory allows."
    )


MaxMemory = int | float | str | Budget | None
"""What `max_memory` may be: bytes, words such as "4GiB", a Budget that nobody else
takes from, or None for half of what is free."""


def make_budget(max_memory: MaxMemory) -> Budget:
    """The budget that `max_memory` means."""
    return max_memory if isinstance(max_memory, Budget) else Budget(max_memory)


# --- knuth's estimate (1975) of how large a tree is, before it is expanded ------------


SECONDS = 0.5
"""A forecast may take so long, unless a single history takes longer."""

_FEW = 25
_FAR_BELOW = 100
"""If after `_FEW` histories the mean of the estimates is `_FAR_BELOW` times below what
fits, the tree is assumed to fit. Whether it does is seen while it is expanded."""

_DOUBT = 1e-7
_STAKES = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)
NODE_BYTES = 20
_LARGE = 250.0
"""Estimates go up to ten to this power; not far beyond, doubles end."""


class Forecast(NamedTuple):
    """What some random histories tell about a tree.

    Attributes:
        nodes: an estimate by each history of how many nodes the tree has, which is
            infinite above 10^250.
        likely_bytes: estimates of the bytes that it takes, if every decision node has a
            string of its own, which is the worst case.
        endless: the state of a history that did not end within the moves that it may
            have; None if all histories ended, or time was up.
    """

    nodes: list[float]
    likely_bytes: list[float]
    endless: Any = None

    def in_words(self) -> str:
        """The means of the estimates, for messages."""
        nodes, size = (_mean(e) for e in (self.nodes, self.likely_bytes))
        if math.isinf(nodes):
            return f"more than 10^{_LARGE:.0f} nodes"
        return f"about {_power(nodes)} nodes, up to {in_words(size)}"


def forecast(
    new_state: Callable[[], Any],
    string_of: Callable[[Any, int], str],
    tell_history: Callable[[Exception, Any], None],
    *,
    longest: int,
    per_infoset: int,
    most_nodes: float,
) -> Forecast:
    """Follows random histories from the root, for about half a second at most.

    Args:
        new_state: makes the root's state.
        string_of: the string of a state where a player acts.
        tell_history: adds the history of a state to an error raised there.
        longest: the number of moves beyond which a history is not followed.
        per_infoset: the bytes that an infoset takes, besides its string.
        most_nodes: how many nodes fit. No more histories are followed once it is clear
            whether the tree has more.
    """
    generator = random.Random(0)
    found = Forecast([], [])
    end = time.monotonic() + SECONDS
    look_at = 1
    # One pass follows one history. The estimates are looked at when there are 1, 2, 4,
    # ... of them, since a look takes longer the more there are.
    while time.monotonic() < end or not found.nodes:
        state = new_state()
        try:
            nodes, strings = _probe(
                state, string_of, generator, longest, per_infoset, end
            )
        except Exception as error:  # games raise what they like
            tell_history(error, state)
            raise
        if len(state.history()) >= longest:
            return found._replace(endless=state)
        found.nodes.append(nodes)
        found.likely_bytes.append(NODE_BYTES * nodes + strings)
        if len(found.nodes) == look_at:
            if exceeds(found.nodes, most_nodes):
                break
            look_at *= 2
        if len(found.nodes) == _FEW and _FAR_BELOW * _mean(found.nodes) < most_nodes:
            break
    return found


def _probe(
    state: Any,
    string_of: Callable[[Any, int], str],
    generator: random.Random,
    longest: int,
    per_infoset: int,
    end: float,
) -> tuple[float, float]:
    """Estimates the nodes, and the bytes of strings, by following one history.

    Both estimates only grow along the history. So it may be left at any point, and what
    is estimated then is a part of the tree.
    """
    # A node of the history stands for `weight` nodes of the tree at its depth.
    nodes, strings, weight, length = 1.0, 0.0, 1.0, 0
    while not state.is_terminal() and length < longest:
        if length % 64 == 63 and time.monotonic() > end:
            break
        player = state.current_player()
        if player >= 0:
            if math.isfinite(nodes):
                size = sys.getsizeof(string_of(state, player))
                strings += weight * (size + per_infoset)
            moves = state.legal_actions()
        else:
            # A game need not let chance do what it never does.
            moves = [move for move, prob in state.chance_outcomes() if prob > 0]
        if not moves:
            break
        weight *= len(moves)
        nodes += weight
        if weight > 10**_LARGE:  # followed further, only to see whether it ends
            weight = nodes = strings = math.inf
        state.apply_action(generator.choice(moves))
        length += 1
    return nodes, strings


def exceeds(estimates: Sequence[float], most: float) -> bool:
    """Whether unbiased, independent estimates show that the truth is above `most`.

    This is a test by betting. Let each estimate multiply a gambler's capital by 1 -
    stake + stake * estimate / most. If the truth were at most `most`, the gambler could
    not expect to win, so the capital would ever reach 10^7 times its beginning with
    probability at most 10^-7, however many estimates there are (Ville's inequality).
    Four gamblers with different stakes begin with a quarter of the capital each, since
    estimates may agree with each other or be dominated by a rare large one.
    """
    goal = math.log(len(_STAKES) / _DOUBT)
    logarithms = [0.0] * len(_STAKES)
    for estimate in estimates:
        for gambler, stake in enumerate(_STAKES):
            logarithms[gambler] += math.log(1 - stake + stake * estimate / most)
        if max(logarithms) >= goal:
            return True
    return False


def refusal(
    found: Forecast, game: str, most_nodes: int, budget: Budget
) -> TreeFullError | None:
    """The error for a tree that is surely too large; None if it may fit."""
    if exceeds(found.nodes, most_nodes):
        kind, limit = TreeFullError, f"max_nodes={most_nodes}"
    elif exceeds(found.nodes, budget.limit / NODE_BYTES):
        kind, limit = MemoryBudgetError, budget.in_words()
    else:
        return None
    return kind(
        f"The whole tree of {brief(game)} has {found.in_words()}: far more than "
        f"{limit}. "
        "CFR, exact evaluation (nash_conv, exploitability) and linear programs need "
        "the whole tree. Outcome sampling and external sampling keep only what they "
        "meet; ms.sampled_returns and ms.learned_response evaluate by playing, as "
        "--evaluate=sampled does on the command line."
    )


def _mean(estimates: Sequence[float]) -> float:
    return sum(estimates) / len(estimates)


def _power(count: float) -> str:
    return f"10^{math.log10(count):.0f}" if count >= 1e6 else f"{count:,.0f}"
