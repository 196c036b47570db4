"""Values that a walk keeps in registers: constants of the walk, and counters."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.jit import inlined

LARGE = 2**16
"""Number of nodes above which a tree exceeds the processor's caches. Walks that follow
one history then wait for memory at each step unless data are prefetched (frame.py)."""


class Trip(NamedTuple):
    """Constants of one walk.

    Attributes:
        player: the updated player.
        serial: number of the walk among all walks of the player, starting at 1.
        stream: key of the walk's draws, see randomness.py.
        poor: regret below which actions are skipped, see selection.py.
        passed: number of nodes whose contributions a repeated walk skips.
        pause: value of `Progress.num_touched` at which the walk pauses.
        is_large: whether the nodes exceed the processor's caches, see LARGE.
    """

    player: Any
    serial: Any
    stream: Any
    poor: Any
    passed: Any
    pause: Any
    is_large: Any


class Progress(NamedTuple):
    """Counters of the walks before one update, all int64.

    They are passed by value and stay in registers. Updating an array at each node would
    be slower.

    Attributes:
        height: height of the stack.
        num_met: number of infosets met; number of visits if players forget; number of
            logged infosets in the top part.
        num_touched: number of nodes visited.
        num_notes: number of notes for baselines.
        num_leaves: number of leaves logged in the top part.
        num_forks: number of forks logged in the top part.
    """

    height: Any
    num_met: Any
    num_touched: Any
    num_notes: Any
    num_leaves: Any
    num_forks: Any


@inlined
def with_height(progress: Progress, height: int) -> Progress:
    """Returns the counters with a new height of the stack."""
    _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
    return Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks)


@inlined
def counted(progress: Progress, height: int) -> Progress:
    """Returns the counters after a node with children, with a new stack height."""
    _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
    return Progress(height, num_met, num_touched + 1, num_notes, num_leaves, num_forks)


@inlined
def no_progress() -> Progress:
    """Counters after an update, all zero."""
    zero = np.int64(0)
    return Progress(zero, zero, zero, zero, zero, zero)
