"""The local rules: how the policy at one infoset moves, and how its tables start.

A walk or a pass leaves the player's gradient in `Tables.gradient`. Infosets are then
updated from the bottom up. At each one a rule moves the policy, clears the gradient
that it has used, and returns a value, which is added to the gradient of the parent
sequence. Below, b is the policy before the update and G the gradient at the infoset's
sequences.

A rule is a row of RULES: two functions, for an update and for the start of an infoset's
tables. What `Tables.memory` holds at a sequence is up to the rule. A kernel is compiled
for one rule, so the others cost it nothing. The functions share these arguments:

    tables: of which an update changes `policy` and `memory` and clears `gradient`, and
        a start sets what is not to be 0. The policy is uniform before the start.
    infoset: the infoset.
    start, stop: its sequences are start .. stop - 1.
    parameters: the numbers of the rule's value in algorithms.py, in the order in which
        its property `parameters` gives them.
    place, seed: the infoset's place and the solver's seed, for a random start.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from mccfr_spiel.compiled.jit import inlined, jit, pasted
from mccfr_spiel.compiled.randomness import child_place, stream_key, uniform
from mccfr_spiel.kernels.tables import Tables, TreeArrays
from mccfr_spiel.kernels.ties import join_policies

# --- regret matching -----------------------------------------------------------


@pasted
def match_regrets(
    tables: Tables, infoset: int, start: int, stop: int, parameters: np.ndarray
) -> float:
    """Regret matching; `memory` holds the cumulative regrets; returns <b, G>."""
    return add_regrets(tables, start, stop, False)


@pasted
def match_regrets_plus(
    tables: Tables, infoset: int, start: int, stop: int, parameters: np.ndarray
) -> float:
    """Regret matching+; `memory` holds the regrets, never below 0; returns <b, G>."""
    return add_regrets(tables, start, stop, True)


@pasted
def add_regrets(tables: Tables, start: int, stop: int, floored: bool) -> float:
    """Adds the regrets to `memory` and plays in proportion to the positive ones.

    Args:
        tables: see above.
        start: the first sequence.
        stop: the end of the sequences.
        floored: whether sums of regrets below 0 become 0.

    Returns:
        <b, G>.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value = 0.0
    for s in range(start, stop):
        value += policy[s] * gradient[s]
    total = 0.0
    for s in range(start, stop):
        regret = memory[s] + gradient[s] - value
        gradient[s] = 0.0
        if floored and regret < 0.0:
            regret = 0.0
        memory[s] = regret
        if regret > 0.0:
            total += regret
    for s in range(start, stop):
        if total > 0.0:
            policy[s] = max(memory[s], 0.0) / total
        else:
            policy[s] = 1.0 / (stop - start)
    return value


@inlined
def start_regrets(
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Starts regrets at random in [0, parameters[0]), and the policy with them."""
    policy, memory = tables.policy, tables.memory
    stream = stream_key(seed, 0, 0, 1)
    total = 0.0
    for s in range(start, stop):
        regret = parameters[0] * uniform(stream, child_place(place, s - start))
        memory[s] = regret
        total += regret
    if total > 0.0:
        for s in range(start, stop):
            policy[s] = memory[s] / total


# --- dilated entropy -----------------------------------------------------------


@inlined
def log_sum_exp(vector: np.ndarray, start: int, stop: int, scale: float) -> float:
    """log sum exp(scale * vector[s]) over start <= s < stop, without overflow."""
    most = scale * vector[start]
    for s in range(start + 1, stop):
        most = max(most, scale * vector[s])
    total = 0.0
    for s in range(start, stop):
        total += math.exp(scale * vector[s] - most)
    return most + math.log(total)


@inlined
def follow_leader(
    tables: Tables, infoset: int, start: int, stop: int, parameters: np.ndarray
) -> float:
    """FTRL; `memory` holds the cumulative gradients; the parameter is the step size.

    Returns:
        (weight / step size) log sum b exp(step size G / weight), which is how much the
        log sum exp of the memory grows.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    before = log_sum_exp(memory, start, stop, scale)
    for s in range(start, stop):
        memory[s] += gradient[s]
        gradient[s] = 0.0
    after = log_sum_exp(memory, start, stop, scale)
    for s in range(start, stop):
        policy[s] = math.exp(scale * memory[s] - after)
    return (after - before) / scale


@inlined
def descend_mirror(
    tables: Tables, infoset: int, start: int, stop: int, parameters: np.ndarray
) -> float:
    """OMD; `memory` holds the policy's logarithm; the parameter is the step size.

    Returns:
        The same as `follow_leader`.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    scale = parameters[0] / tables.weight[infoset]
    for s in range(start, stop):
        memory[s] += scale * gradient[s]
        gradient[s] = 0.0
    total = log_sum_exp(memory, start, stop, 1.0)
    for s in range(start, stop):
        memory[s] -= total
        policy[s] = math.exp(memory[s])
    return total / scale


@inlined
def start_sums(
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Starts FTRL: an infoset without a weight gets 1."""
    if tables.weight[infoset] == 0.0:
        tables.weight[infoset] = 1.0


@inlined
def start_logarithms(
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Starts OMD: as FTRL, with the logarithms of the uniform policy."""
    start_sums(tables, infoset, start, stop, parameters, place, seed)
    for s in range(start, stop):
        tables.memory[s] = math.log(tables.policy[s])


@jit
def dilate(infosets: np.ndarray, below: np.ndarray, weight: np.ndarray) -> None:
    """Sets each infoset's weight to 2 + 2 max over actions of the weights below.

    Kroer, Waugh, Kilinc-Karzan, Sandholm 2020. Infosets are taken from the last one up,
    so that all below a sequence have added their weights to `below` before they are
    read.

    Args:
        infosets: of a whole tree.
        below: `[S]`, zeros at first.
        weight: `[I]`, is set.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        most = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            most = max(most, below[s])
        weight[infoset] = 2.0 + 2.0 * most
        below[infosets[infoset]["parent"]] += weight[infoset]


# --- the choice of a rule --------------------------------------------------------


@inlined
def start_uniform(
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Leaves the policy uniform and all else at 0."""


class Rule(NamedTuple):
    """The functions of a rule, with the arguments described above.

    Attributes:
        update: moves the policy at an infoset; returns what goes up to its parent.
        start: starts the tables at an infoset.
    """

    update: Callable[..., float]
    start: Callable[..., None] = start_uniform


RULES = {
    "regret_matching": Rule(match_regrets, start_regrets),
    "regret_matching_plus": Rule(match_regrets_plus, start_regrets),
    "ftrl": Rule(follow_leader, start_sums),
    "omd": Rule(descend_mirror, start_logarithms),
}
"""The rules by the names that their values in algorithms.py have."""

_ROWS = tuple(RULES.values())


def number_of(name: str) -> int:
    """The number of a rule in RULES, by which kernels choose it."""
    return list(RULES).index(name)


def update(
    rule: int,
    tables: Tables,
    infoset: Any,
    start: Any,
    stop: Any,
    parameters: np.ndarray,
) -> float:
    """Calls a rule's `update`, by its number.

    In compiled code the number must be a constant. The call is then that of the one
    function, and no other is compiled.
    """
    return _ROWS[rule].update(tables, infoset, start, stop, parameters)


@overload(update, prefer_literal=True, inline="always")
def _compiled_update(rule, tables, infoset, start, stop, parameters):
    chosen: Any = _ROWS[rule.literal_value].update

    def call(rule, tables, infoset, start, stop, parameters):
        return chosen(tables, infoset, start, stop, parameters)

    return call


def start_infoset(
    rule: int,
    tables: Tables,
    infoset: int,
    start: int,
    stop: int,
    parameters: np.ndarray,
    place: int,
    seed: int,
) -> None:
    """Calls a rule's `start`, as `update` calls its update."""
    _ROWS[rule].start(tables, infoset, start, stop, parameters, place, seed)


@overload(start_infoset, prefer_literal=True, jit_options={"forceinline": True})
def _compiled_start(rule, tables, infoset, start, stop, parameters, place, seed):
    chosen: Any = _ROWS[rule.literal_value].start

    def call(rule, tables, infoset, start, stop, parameters, place, seed):
        chosen(tables, infoset, start, stop, parameters, place, seed)

    return call


@jit
def start_tables(
    tree: TreeArrays,
    tables: Tables,
    known: np.ndarray,
    rule: int,
    seed: int,
    parameters: np.ndarray,
) -> None:
    """Starts the tables of the infosets that the tree has met since the last time.

    Policies start uniform, unless the rule says otherwise, and all else at 0. Tied
    infosets take the policy of their leader.

    Args:
        tree: the tree as it is now.
        tables: with room for all of it.
        known: `[1]`, of how many infosets the tables have been started; is set.
        rule: the number of the rule, a constant.
        seed: of the solver.
        parameters: of the rule.
    """
    infosets = tree.infosets
    for infoset in range(known[0], len(infosets)):
        record = infosets[infoset]
        start = record["first_sequence"]
        stop = start + record["num_actions"]
        for s in range(start, stop):
            tables.policy[s] = 1.0 / (stop - start)
        place = record["place"]
        start_infoset(rule, tables, infoset, start, stop, parameters, place, seed)
    join_policies(infosets, tree.ties, known[0], tables.policy)
    known[0] = len(infosets)


@functools.cache
def make_start_tables(name: str) -> Any:
    """Makes the `start_tables` of one rule, to be called from Python."""
    rule = number_of(name)

    @jit
    def start(tree, tables, known, seed, parameters):
        start_tables(tree, tables, known, rule, seed, parameters)

    return start
