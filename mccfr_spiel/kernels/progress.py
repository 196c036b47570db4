"""Values that a walk keeps in registers: constants of the walk, and counters."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.jit import inlined

LARGE = 2**16
"""Number of nodes above which a tree exceeds the processor's caches.

In such trees, walks that follow one history prefetch data (prefetching.py). Otherwise
they would wait for memory at each step.
"""


class Trip(NamedTuple):
    """Constants of one walk.

    Attributes:
        player: the updated player.
        serial: number of the walk among all walks of the player, starting at 1.
        stream: key of the walk's stream of draws, see randomness.py.
        poor: cumulative regret below which the walk skips actions, see selection.py;
            -inf if it skips none.
        passed: while `Progress.num_touched` is at most this number, a repeated walk
            adds nothing to the gradient, because its payoffs are already there.
        pause: the walk pauses when `Progress.num_touched` reaches this number.
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
    """Counters of the walks since the last update, all int64.

    Functions receive and return them by value, so that they stay in registers. Updating
    an array at each node would be slower.

    Attributes:
        height: height of the stack.
        num_met: length of the list of infosets to update (`Walk.met`), or of the list
            of visits of players with imperfect recall (`Walk.visit`), or of the log of
            infosets (`Log.event`), whichever the walk writes.
        num_touched: number of nodes visited.
        num_notes: number of notes for baselines.
        num_leaves: number of logged leaves, see logs.py.
        num_forks: number of logged forks, see logs.py.
    """

    height: Any
    num_met: Any
    num_touched: Any
    num_notes: Any
    num_leaves: Any
    num_forks: Any


@inlined
def with_height(progress: Progress, height: int) -> Progress:
    """Returns the counters with another height of the stack."""
    _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
    return Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks)


@inlined
def counted(progress: Progress, height: int) -> Progress:
    """Returns the counters with a new stack height and one more visited node."""
    _, num_met, num_touched, num_notes, num_leaves, num_forks = progress
    return Progress(height, num_met, num_touched + 1, num_notes, num_leaves, num_forks)


@inlined
def no_progress() -> Progress:
    """Returns counters that are all zero, as after an update."""
    zero = np.int64(0)
    return Progress(zero, zero, zero, zero, zero, zero)
