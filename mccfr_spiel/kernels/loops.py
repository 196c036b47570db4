"""The compiled loop of a sampling and a rule."""

import functools
from typing import Any

from numba.core import types

from mccfr_spiel.kernels.jit import IS_COMPILED
from mccfr_spiel.kernels.minimizers import code_for
from mccfr_spiel.kernels.passes import make_passes
from mccfr_spiel.kernels.shared_walks import make_shared_walks
from mccfr_spiel.kernels.stored import make_walks
from mccfr_spiel.kernels.walk import Sampled


@functools.cache
def make_iterate(sampled: Sampled, rule: str, forgets: bool = False) -> Any:
    """Makes `iterate(frame)` for one kind of sampling and one rule.

    If nothing is sampled it is `iterate(frame, desk, leads)`, see `make_passes`.

    It starts the tables of infosets that are new, then runs whole iterations until the
    job's limits. What the frame holds is said in tables.py: a Task, the TreeArrays,
    Tables and a Walk, which are changed, and, if nothing is sampled, Passes, Plans and
    Blocks.
    It returns a status of tables.py. After GROW, STACK_FULL and PAUSED it is to be
    called again.

    Args:
        sampled: what a walk samples.
        rule: a name in RULES, or what `name_of_own` gave.
        forgets: whether players forget, see apply.py; for regret matching and
            regret matching+ only. Then there are walks even if nothing is sampled.
    """
    with code_for(rule) as number:
        if forgets or sampled.sampling.is_sampled or sampled.sampling.prune:
            return make_walks(sampled, number, forgets)
        return make_passes(number)


@functools.cache
def make_estimated_iterate(rule: str) -> Any:
    """Makes the `iterate` of gradients that a user's estimator writes, see
    `make_passes`; `rule` is as in `make_iterate`."""
    with code_for(rule) as number:
        return make_passes(number, estimated=True)


@functools.cache
def make_shared_iterate(sampled: Sampled, rule: str) -> Any:
    """Makes `iterate(frame, plan, desk, leads)` for walks on a complete tree in
    threads.

    No player forgets, and the walks are such that `can_be_shared`.
    shared_walks.py says what the frame holds, and its `PLAN_SIZE` what the plan does.
    It returns DONE, PAUSED, TOO_UNLIKELY, or, if the slots must be made larger first,
    STACK_FULL or LOG_FULL. With the last three `drop_shared` must be called.

    Args:
        sampled: what a walk samples, batched.
        rule: as in `make_iterate`; a user's own rule must be compiled.
    """
    with code_for(rule) as number:
        made = make_shared_walks(sampled, number)
    if IS_COMPILED:
        array = types.int64[::1]
        made.compile((array, array, array, types.boolean))
    return made
