"""Infosets that an abstraction ties: one policy for all of them.

An abstraction gives histories with different pasts the same string. Each infoset of the
unabstracted past keeps its own sequences, and those of one string are tied: one of them
is the leader, `ties[i, 0]`; `ties[i, 1]` is the next infoset tied to the same leader;
`ties[i, 2]` is the player's infoset above i. All three are -1 where there is none.

The regrets of tied infosets are added up in the leader's memory, and the policy of
these sums is copied to all of them. A policy thus moves at infosets that the walk did
not meet, so all of them, and all above them, must pay what they owe to the average
before it does.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.kernels.averaging import pay_debt
from mccfr_spiel.kernels.tables import Tables, TreeArrays


@inlined
def gather_regrets(
    tree: TreeArrays, tables: Tables, infoset: int, start: int, stop: int
) -> float:
    """Adds a tied infoset's regrets to its leader's and clears its gradient.

    Returns:
        The value of the policy, which is passed up to the parent sequence.
    """
    policy, memory, gradient = tables.policy, tables.memory, tables.gradient
    value = 0.0
    for s in range(start, stop):
        value += policy[s] * gradient[s]
    leader = tree.infosets[tree.ties[infoset, 0]]["first_sequence"]
    for s in range(start, stop):
        mine = leader + s - start
        memory[mine] = memory[mine] + gradient[s] - value
        gradient[s] = 0.0
    return value


@inlined
def pay_tied(tree: TreeArrays, tables: Tables, infoset: int, chain: np.ndarray) -> None:
    """Pays the debts of all infosets tied to one, and of those above each of them.

    The outer loop goes through the tied infosets. For each, the player's infosets above
    it are written down from the bottom up, and then pay from the top down, because what
    an infoset owes depends on what its parent has.

    Args:
        tree: whose ties are followed.
        tables: of which `average` and `paid` change.
        infoset: one of those that are tied.
        chain: `[I]` int32, room to write infosets down.
    """
    infosets, ties = tree.infosets, tree.ties
    infoset = ties[infoset, 0]
    while infoset >= 0:
        length = 0
        above = infoset
        while above >= 0:
            chain[length] = above
            length += 1
            above = ties[above, 2]
        for k in range(length - 1, -1, -1):
            record = infosets[chain[k]]
            start = record["first_sequence"]
            stop = start + record["num_actions"]
            settled = tables.average[record["parent"]]
            pay_debt(tables, chain[k], settled, start, stop)
        infoset = ties[infoset, 1]


@inlined
def move_tied(tree: TreeArrays, tables: Tables, infoset: int, floored: bool) -> None:
    """Gives all infosets tied to one the policy of their common regrets.

    Args:
        tree: whose ties are followed.
        tables: of which `policy` changes.
        infoset: one of those that are tied.
        floored: whether negative sums of regrets become 0, as in regret matching+.
    """
    infosets, ties = tree.infosets, tree.ties
    policy, memory = tables.policy, tables.memory
    infoset = ties[infoset, 0]
    leader = infosets[infoset]["first_sequence"]
    count = np.int64(infosets[infoset]["num_actions"])
    total = 0.0
    for s in range(leader, leader + count):
        if floored and memory[s] < 0.0:
            memory[s] = 0.0
        if memory[s] > 0.0:
            total += memory[s]
    while infoset >= 0:
        start = infosets[infoset]["first_sequence"]
        for k in range(count):
            b = 1.0 / count
            if total > 0.0:
                b = max(memory[leader + k], 0.0) / total
            policy[start + k] = b
        infoset = ties[infoset, 1]


@jit
def join_policies(
    infosets: np.ndarray, ties: np.ndarray, known: int, policy: np.ndarray
) -> None:
    """Gives infosets from number `known` on the policy of their leaders."""
    for infoset in range(known, len(ties)):
        start = infosets[infoset]["first_sequence"]
        leader = infosets[ties[infoset, 0]]["first_sequence"]
        for k in range(infosets[infoset]["num_actions"]):
            policy[start + k] = policy[leader + k]


@jit
def join_averages(infosets: np.ndarray, ties: np.ndarray, average: np.ndarray) -> None:
    """Gives tied infosets the sum of their sums of plans.

    A leader comes before all that are tied to it: it adds up their sums when its turn
    comes, and each of them later copies the result.
    """
    for infoset in range(len(ties)):
        if ties[infoset, 0] == infoset:
            leader = infosets[infoset]["first_sequence"]
            for k in range(infosets[infoset]["num_actions"]):
                total = average[leader + k]
                member = ties[infoset, 1]
                while member >= 0:
                    total += average[infosets[member]["first_sequence"] + k]
                    member = ties[member, 1]
                average[leader + k] = total
        else:
            leader = infosets[ties[infoset, 0]]["first_sequence"]
            start = infosets[infoset]["first_sequence"]
            for k in range(infosets[infoset]["num_actions"]):
                average[start + k] = average[leader + k]
