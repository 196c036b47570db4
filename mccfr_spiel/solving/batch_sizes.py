"""How long a solver's walks and batches are, which decides who makes them."""

import numpy as np

from mccfr_spiel import kernels


def batch_of(task: kernels.Task, walk: kernels.Walk) -> int:
    """The walks of a batch in the next iteration."""
    iteration = int(walk.cursor[kernels.ITERATION]) + 1
    return kernels.plain_batch_at(int(task.job[kernels.BATCH]), iteration)


def nodes_of_walk(task: kernels.Task, walk: kernels.Walk, num_players: int) -> float:
    """The mean of the nodes of all walks so far; 0 before the first."""
    cursor, given = walk.cursor, int(task.job[kernels.BATCH])
    iteration, player = cursor[[kernels.ITERATION, kernels.PLAYER]].tolist()
    if cursor[kernels.TOP] == 0:
        iteration += 1
    batch = kernels.plain_batch_at(given, iteration)
    num_walks = num_players * (kernels.plain_walk_number(given, iteration, 0) - 1)
    return float(cursor[kernels.NODES_TOUCHED]) / num_walks if num_walks else 0.0


def is_at_root(walk: kernels.Walk) -> bool:
    """Whether the walk of one thread stands between two walks."""
    cursor = walk.cursor
    top = cursor[kernels.TOP]
    return top == 0 or bool(
        top == 1
        and walk.node[0] == 0
        and cursor[kernels.NUM_UNDO] == 0
        and cursor[kernels.NUM_MET] == cursor[kernels.NUM_MET_BEFORE]
        and cursor[kernels.NODES_TOUCHED] == cursor[kernels.NODES_TOUCHED_BEFORE]
    )


def nodes_of_call(
    task: kernels.Task, walk: kernels.Walk, nodes_of_iteration: float
) -> float:
    """The nodes that a kernel is likely to touch until it is at the job's limits.

    Args:
        task, walk: as they are before the call; the walk is at its root.
        nodes_of_iteration: that an iteration is likely to touch.
    """
    job, cursor = task.job.view(np.int64), walk.cursor
    left = job[kernels.LAST_ITERATION] - cursor[kernels.ITERATION]
    by_iterations = nodes_of_iteration * float(left)
    by_nodes = float(job[kernels.NODE_LIMIT] - cursor[kernels.NODES_TOUCHED])
    # An iteration that was begun is finished whatever the limits are.
    begun = nodes_of_iteration * int(cursor[kernels.TOP])
    return begun + max(min(by_iterations, by_nodes), 0.0)


def walks_of_ticket(
    task: kernels.Task,
    walk: kernels.Walk,
    num_players: int,
    num_tickets: int,
    nodes: tuple[int, int],
) -> int:
    """How many walks of a batch a thread makes before it takes the next ones.

    Args:
        task, walk: see `nodes_of_walk`.
        num_players: of the game.
        num_tickets: how many tickets a segment may have.
        nodes: how many nodes the walks of a ticket should have, unless the tickets
            would be few, and the most.
    """
    batch = batch_of(task, walk)
    mean = max(nodes_of_walk(task, walk, num_players), 1.0)
    least, most = nodes
    enough = min(-(-batch // 8), -(-least // mean))
    return int(min(max(-(-batch // num_tickets), enough), max(most // mean, 1)))
