"""How long a solver's walks and batches are, which decides who makes them."""

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
    num_walks += player * batch + int(cursor[kernels.WALK])
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
