"""All loops over nodes and infosets that run compiled.

A kernel never raises and never calls Python: it returns a status and leaves its state
in the arrays, so that it can be called again to go on. The switches of an algorithm are
constants of the factories below, so each combination compiles to its own code. No
indexing error is checked; the shell (solver.py, evaluation.py) passes arrays that fit.

One walk for a player adds to `gradient` at the leaves it meets. Then the infosets met
are updated, bottom up: the rule moves the policy and passes a value up to the parent
sequence's gradient, and what was used of the gradient is cleared. With the old policy b
and the gradient G, that value is <b, G> for regret matching and (weight / step) log sum
b exp(step G / weight) for FTRL and OMD.

Averaging is lazy and exact: `average[s]` is the weighted sum of the plans at sequence
s up to when its infoset was last met, and `paid[i]` the sum at infoset i's parent
sequence then. Its policy has not moved since, so what it owes is its policy times the
difference.

Infosets that an abstraction ties have one policy, of which each has a copy. A walk adds
all their regrets to the memory of their leader. Before the policy moves, all of them
and what is above them pay their debts.
"""

# pyright: reportPossiblyUnboundVariable=false
# (numba drops the branches that a constant of a factory rules out)

import functools
import math
from typing import NamedTuple

import numpy as np

from mccfr_spiel.compile import jit
from mccfr_spiel.frame import matrix, vector
from mccfr_spiel.game_tree import CHANCE_NODE, INFOSET, NODE, TERMINAL, UNEXPANDED
from mccfr_spiel.prefetch import prefetch
from mccfr_spiel.randomness import ROOT_PLACE, child_place, stream_key, uniform

RULES = {"regret_matching": 0, "regret_matching_plus": 1, "ftrl": 2, "omd": 3}
_REGRET_MATCHING, _REGRET_MATCHING_PLUS, _FTRL, _OMD = RULES.values()

DONE, GROW, STACK_FULL, TOO_UNLIKELY = range(4)
"""What a kernel returns: the work is done; the node `cursor[NODE_TO_GROW]` must be
expanded first; the stack must be larger first; the walk has sampled a history so
unlikely that its weight exceeds MAX_WEIGHT."""

MAX_WEIGHT = 1e290
"""Sums of payoffs times such weights still fit a double."""

_LARGE = 2**16
"""Trees of more nodes do not stay in the processor's caches: there a walk that follows
one history waits for memory at each step (see prefetch.py)."""

_NODES_A_LINE, _FLOATS_A_LINE = 64 // NODE.itemsize, 64 // 8

(
    ITERATION,
    PLAYER,
    TOP,
    NUM_MET,
    NODES_TOUCHED,
    NODE_TO_GROW,
    NUM_MET_BEFORE,
    NODES_TOUCHED_BEFORE,
    CURSOR_SIZE,
) = range(9)
"""The entries of a cursor: iterations begun, the player being updated, the height of
the stack (0 between walks), the infosets met and not yet updated, the nodes touched,
the node of GROW, and NUM_MET and NODES_TOUCHED as they were before this walk."""


(
    SEED,
    LAST_ITERATION,
    NODE_LIMIT,
    ALTERNATING,
    NUM_NODES,
    NUM_INFOSETS,
    JOB_SIZE,
) = range(7)
"""The entries of a job: the seed, the last iteration, the nodes touched after which
none begins, whether players are updated in turns, and the tree's present size."""


class TreeArrays(NamedTuple):
    """The arrays of a GameTree that kernels read."""

    nodes: np.ndarray
    infosets: np.ndarray
    chance_probs: np.ndarray
    chance_cdf: np.ndarray
    utilities: np.ndarray
    ties: np.ndarray


class Tables(NamedTuple):
    """What a solver knows, over sequences `[S]` or infosets `[I]`.

    Attributes:
        policy: `[S]` the current policy, 1 at empty sequences.
        memory: `[S]` cumulative regrets (regret matching), cumulative gradients (FTRL)
            or the logarithm of the policy (OMD).
        gradient: `[S]` the estimate being made, 0 between updates.
        average: `[S]` weighted sum of plans, see above.
        paid: `[I]` see above.
        weight: `[I]` of the infoset in the dilated entropy; `[0]` if the rule has none.
        balance: `[S]` the balanced strategy; `[0]` if it is not sampled.
        is_met: `[I]` 1 where the walks since the last update met the infoset.
    """

    policy: np.ndarray
    memory: np.ndarray
    gradient: np.ndarray
    average: np.ndarray
    paid: np.ndarray
    weight: np.ndarray
    balance: np.ndarray
    is_met: np.ndarray


class Walk(NamedTuple):
    """Where a walk is: a stack of nodes to come, the infosets met, the cursor.

    Attributes:
        node, sequence, weight, place: `[H]` a stacked node, the updating player's last
            sequence before it, the weight of what is below it, its history's place.
        met: `[I]` the infosets met since the last update, ancestors first.
        known: `[1]` int64, of how many infosets the tables have been started.
        cursor: `[CURSOR_SIZE]` int64.
    """

    node: np.ndarray
    sequence: np.ndarray
    weight: np.ndarray
    place: np.ndarray
    met: np.ndarray
    known: np.ndarray
    cursor: np.ndarray


class Passes(NamedTuple):
    """What a pass over a complete tree reads, of all players together.

    Every terminal history is a row for every player, grouped by the player's last
    sequence before it.

    Attributes:
        ends: `[S + 1]` int64; the rows of sequence s are `ends[s] .. ends[s + 1] - 1`.
        others: `[L P, P - 1]` int32, the other players' last sequences.
        payoffs: `[L P]` the player's return times the probability of chance's moves.
        members: `[I]` int32, the infosets, player by player, ancestors first.
        member_ends: `[P + 1]` int64; player p's infosets are
            `members[member_ends[p] : member_ends[p + 1]]`.
    """

    ends: np.ndarray
    others: np.ndarray
    payoffs: np.ndarray
    members: np.ndarray
    member_ends: np.ndarray


_INT, _FLOAT = np.dtype(np.int32), np.dtype(np.float64)
_LONG, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)
_FLAG = np.dtype(np.uint8)

# The slots of the frame that `iterate` takes.
_JOB, _SETTINGS, _TREE = 0, 1, 2
_TABLES = _TREE + len(TreeArrays._fields)
_WALK = _TABLES + len(Tables._fields)
_PASSES = _WALK + len(Walk._fields)
_PLAN = _PASSES + len(Passes._fields)

FRAME = (
    *(_UNSIGNED, _FLOAT),
    *(NODE, INFOSET, _FLOAT, _FLOAT, _FLOAT, _INT),
    *(_FLOAT, _FLOAT, _FLOAT, _FLOAT, _FLOAT, _FLOAT, _FLOAT, _FLAG),
    *(_INT, _INT, _FLOAT, _UNSIGNED, _INT, _LONG, _LONG),
    *(_LONG, _INT, _FLOAT, _INT, _LONG, _FLOAT),
)
"""The types of the arrays in it: a job and settings, TreeArrays, Tables, a Walk, and
where nothing is sampled Passes and plans. The functions below read them as such."""


@jit
def _tree_in(frame, num_nodes, num_infosets):
    return TreeArrays(
        vector(frame, _TREE + 0, NODE)[:num_nodes],
        vector(frame, _TREE + 1, INFOSET)[:num_infosets],
        vector(frame, _TREE + 2, _FLOAT),
        vector(frame, _TREE + 3, _FLOAT),
        matrix(frame, _TREE + 4, _FLOAT),
        matrix(frame, _TREE + 5, _INT)[:num_infosets],
    )


@jit
def _tables_in(frame):
    return Tables(
        vector(frame, _TABLES + 0, _FLOAT),
        vector(frame, _TABLES + 1, _FLOAT),
        vector(frame, _TABLES + 2, _FLOAT),
        vector(frame, _TABLES + 3, _FLOAT),
        vector(frame, _TABLES + 4, _FLOAT),
        vector(frame, _TABLES + 5, _FLOAT),
        vector(frame, _TABLES + 6, _FLOAT),
        vector(frame, _TABLES + 7, _FLAG),
    )


@jit
def _walk_in(frame):
    return Walk(
        vector(frame, _WALK + 0, _INT),
        vector(frame, _WALK + 1, _INT),
        vector(frame, _WALK + 2, _FLOAT),
        vector(frame, _WALK + 3, _UNSIGNED),
        vector(frame, _WALK + 4, _INT),
        vector(frame, _WALK + 5, _LONG),
        vector(frame, _WALK + 6, _LONG),
    )


@jit
def _passes_in(frame):
    return Passes(
        vector(frame, _PASSES + 0, _LONG),
        matrix(frame, _PASSES + 1, _INT),
        vector(frame, _PASSES + 2, _FLOAT),
        vector(frame, _PASSES + 3, _INT),
        vector(frame, _PASSES + 4, _LONG),
    )


@jit
def log_sum_exp(vector, start, stop, scale):
    """log sum exp(scale * vector[s]) over start <= s < stop, without overflow."""
    most = scale * vector[start]
    for s in range(start + 1, stop):
        most = max(most, scale * vector[s])
    total = 0.0
    for s in range(start, stop):
        total += math.exp(scale * vector[s] - most)
    return most + math.log(total)


@functools.cache
def make_iterate(chance, opponents, player_sampling, prune, rule, tied=False):
    """Compiles `iterate` for one kind of sampling and one rule.

    Args:
        chance, opponents, prune: as in `algorithms.Sampling`.
        player_sampling: its `player`.
        rule: a value of RULES.
        tied: whether an abstraction ties infosets; for the first two rules.
    """
    # With nothing sampled nor pruned the leaves are passed over instead of walked to.
    passed = not (chance or opponents or player_sampling != "all" or prune)
    epsilon_sampled = player_sampling == "epsilon"
    balanced = player_sampling == "balanced"
    player_sampled = epsilon_sampled or balanced
    # Then all weights are 1, and a walk meets an infoset of the player at most once.
    weighted = player_sampled or not (chance and opponents)
    met_once = chance and opponents

    @jit
    def iterate(frame):
        """Starts the tables of new infosets, then runs whole iterations.

        No function is called with arrays in the loop: each call would count references.

        Args:
            frame: of, one after the other (see `frame.frame_of`), a job `[JOB_SIZE]`
                uint64; `[4]` epsilon, step size, gamma of the average and initial
                regret; TreeArrays, perhaps with room to spare; Tables and a Walk, which
                are changed; and if nothing is sampled, the Passes and the plans `[S]`
                of `Tables.policy`, before and after.

        Returns:
            A status, see above. After GROW and STACK_FULL, call again.
        """
        job = vector(frame, _JOB, _UNSIGNED)
        seed = job[SEED]
        last_iteration = np.int64(job[LAST_ITERATION])
        node_limit = np.int64(job[NODE_LIMIT])
        alternating = job[ALTERNATING] != 0
        settings = vector(frame, _SETTINGS, _FLOAT)
        epsilon, step, gamma = settings[0], settings[1], settings[2]
        initial_regret = settings[3]
        tree = _tree_in(frame, np.int64(job[NUM_NODES]), np.int64(job[NUM_INFOSETS]))
        tables, walk = _tables_in(frame), _walk_in(frame)
        nodes, infosets, chance_probs, chance_cdf, utilities, ties = tree
        if passed:
            plan = vector(frame, _PLAN, _FLOAT)
            ends, others, payoffs, members, member_ends = _passes_in(frame)
        policy, memory, gradient, average, paid, weights, balance, is_met = tables
        stack_node, stack_sequence, stack_weight, stack_place, met, known, cursor = walk
        start_infosets(infosets, known[0], tables, rule, seed, initial_regret)
        if tied:
            join_policies(infosets, ties, known[0], policy)
        known[0] = len(infosets)
        num_players = utilities.shape[1]
        capacity = len(stack_node)
        is_large = len(nodes) > _LARGE
        iteration = cursor[ITERATION]
        player = cursor[PLAYER]
        top = cursor[TOP]
        num_met = cursor[NUM_MET]
        touched = cursor[NODES_TOUCHED]
        share = iteration**gamma
        stream = ROOT_PLACE
        status = DONE
        chain = np.empty(len(infosets) if tied else 0, np.int32)

        while True:
            if top == 0:
                if player == 0:
                    if iteration == last_iteration or touched >= node_limit:
                        break
                    iteration += 1
                    share = iteration**gamma
                average[player] += share
                cursor[NUM_MET_BEFORE] = num_met
                cursor[NODES_TOUCHED_BEFORE] = touched
                if passed:
                    touched += len(nodes)
                else:
                    stack_node[0] = 0
                    stack_sequence[0] = player
                    stack_weight[0] = 1.0
                    stack_place[0] = ROOT_PLACE
                    top = 1

            if not passed:
                stream = stream_key(seed, iteration, player, num_players)

            while top > 0 and status == DONE:
                top -= 1
                node = stack_node[top]
                sequence = stack_sequence[top]
                weight = stack_weight[top] if weighted else 1.0
                place = stack_place[top] if chance else ROOT_PLACE
                while True:
                    record = nodes[node]
                    acting = record["player"]
                    start = record["start"]
                    count = np.int64(record["num_children"])
                    first = record["first_child"]
                    if acting == TERMINAL:
                        if player_sampled and weight > MAX_WEIGHT:
                            status = TOO_UNLIKELY
                        else:
                            touched += 1
                            gradient[sequence] += weight * utilities[start, player]
                            break
                    elif acting == UNEXPANDED:
                        status = GROW
                    elif top + count > capacity:
                        status = STACK_FULL
                    if status != DONE:
                        stack_node[top] = node
                        stack_sequence[top] = sequence
                        stack_weight[top] = weight
                        stack_place[top] = place
                        top += 1
                        cursor[NODE_TO_GROW] = node
                        break
                    touched += 1
                    chosen = 0
                    if player_sampled and is_large:
                        for child in range(first, first + count, _NODES_A_LINE):
                            prefetch(nodes, child)

                    if acting == player:
                        infoset = record["infoset"]
                        if met_once or is_met[infoset] == 0:
                            if not met_once:
                                is_met[infoset] = 1
                            met[num_met] = infoset
                            num_met += 1
                            if player_sampled and is_large:  # for the update
                                for s in range(start, start + count, _FLOATS_A_LINE):
                                    prefetch(memory, s)
                                    prefetch(gradient, s)
                            mass = average[sequence]
                            debt = mass - paid[infoset]
                            paid[infoset] = mass
                            for s in range(start, start + count):
                                average[s] += policy[s] * debt
                        if player_sampled:
                            draw = uniform(stream, infosets[infoset]["place"])
                            rest = epsilon / count
                            likelihood = 0.0
                            for child in range(count):
                                if balanced:
                                    q = balance[start + child]
                                else:
                                    q = policy[start + child]
                                    q = (1.0 - epsilon) * q + rest
                                if q > 0.0:
                                    chosen = child
                                    likelihood = q
                                    draw -= q
                                    if draw < 0.0:
                                        break
                            weight /= likelihood
                        else:
                            for child in range(count - 1, 0, -1):
                                stack_node[top] = first + child
                                stack_sequence[top] = start + child
                                if weighted:
                                    stack_weight[top] = weight
                                if chance:
                                    stack_place[top] = child_place(place, child)
                                top += 1
                        sequence = start + chosen

                    elif acting != CHANCE_NODE:
                        if opponents:
                            infoset = record["infoset"]
                            draw = uniform(stream, infosets[infoset]["place"])
                            for child in range(count):
                                b = policy[start + child]
                                if b > 0.0:
                                    chosen = child
                                    draw -= b
                                    if draw < 0.0:
                                        break
                        else:
                            for child in range(count - 1, -1, -1):
                                b = policy[start + child]
                                if not prune or b > 0.0:
                                    stack_node[top] = first + child
                                    stack_sequence[top] = sequence
                                    stack_weight[top] = weight * b
                                    if chance:
                                        stack_place[top] = child_place(place, child)
                                    top += 1
                            break

                    else:
                        if chance:
                            if not player_sampled and is_large:
                                for child in range(first, first + count, _NODES_A_LINE):
                                    prefetch(nodes, child)
                            # Nearly uniform distributions are found at the first guess.
                            draw = uniform(stream, place)
                            chosen = int(draw * count)
                            while chosen > 0 and draw < chance_cdf[start + chosen - 1]:
                                chosen -= 1
                            while draw >= chance_cdf[start + chosen]:
                                chosen += 1
                        else:
                            for child in range(count - 1, -1, -1):
                                stack_node[top] = first + child
                                stack_sequence[top] = sequence
                                stack_weight[top] = weight * chance_probs[start + child]
                                top += 1
                            break

                    node = first + chosen
                    if chance:
                        place = child_place(place, chosen)

            if status != DONE:
                break
            if alternating or player == num_players - 1:
                begin, end = 0, num_met
                if passed:
                    begin = member_ends[player] if alternating else 0
                    end = member_ends[player + 1]
                for visit in range(end - 1, begin - 1, -1):
                    infoset = members[visit] if passed else met[visit]
                    if not met_once:
                        is_met[infoset] = 0
                    start = infosets[infoset]["first_sequence"]
                    stop = start + infosets[infoset]["num_actions"]
                    value = 0.0
                    if passed:
                        for s in range(start, stop):
                            reached = gradient[s]
                            if num_players == 2:
                                for row in range(ends[s], ends[s + 1]):
                                    reached += payoffs[row] * plan[others[row, 0]]
                            else:
                                for row in range(ends[s], ends[s + 1]):
                                    reach = payoffs[row]
                                    for other in range(num_players - 1):
                                        reach *= plan[others[row, other]]
                                    reached += reach
                            gradient[s] = reached
                    if tied:
                        for s in range(start, stop):
                            value += policy[s] * gradient[s]
                        leader = infosets[ties[infoset, 0]]["first_sequence"]
                        for s in range(start, stop):
                            mine = leader + s - start
                            memory[mine] = memory[mine] + gradient[s] - value
                            gradient[s] = 0.0
                    elif rule < _FTRL:
                        for s in range(start, stop):
                            value += policy[s] * gradient[s]
                        total = 0.0
                        for s in range(start, stop):
                            regret = memory[s] + gradient[s] - value
                            gradient[s] = 0.0
                            if rule == _REGRET_MATCHING_PLUS and regret < 0.0:
                                regret = 0.0
                            memory[s] = regret
                            if regret > 0.0:
                                total += regret
                        for s in range(start, stop):
                            if total > 0.0:
                                policy[s] = max(memory[s], 0.0) / total
                            else:
                                policy[s] = 1.0 / (stop - start)
                    elif rule == _FTRL:
                        scale = step / weights[infoset]
                        before = log_sum_exp(memory, start, stop, scale)
                        for s in range(start, stop):
                            memory[s] += gradient[s]
                            gradient[s] = 0.0
                        after = log_sum_exp(memory, start, stop, scale)
                        for s in range(start, stop):
                            policy[s] = math.exp(scale * memory[s] - after)
                        value = (after - before) / scale
                    else:
                        scale = step / weights[infoset]
                        for s in range(start, stop):
                            memory[s] += scale * gradient[s]
                            gradient[s] = 0.0
                        total = log_sum_exp(memory, start, stop, 1.0)
                        for s in range(start, stop):
                            memory[s] -= total
                            policy[s] = math.exp(memory[s])
                        value = total / scale
                    gradient[infosets[infoset]["parent"]] += value

                if tied and not passed:
                    for visit in range(begin, end):
                        infoset = ties[met[visit], 0]
                        while infoset >= 0:
                            length = 0
                            above = infoset
                            while above >= 0:
                                chain[length] = above
                                length += 1
                                above = ties[above, 2]
                            for k in range(length - 1, -1, -1):
                                start = infosets[chain[k]]["first_sequence"]
                                stop = start + infosets[chain[k]]["num_actions"]
                                mass = average[infosets[chain[k]]["parent"]]
                                debt = mass - paid[chain[k]]
                                paid[chain[k]] = mass
                                for s in range(start, stop):
                                    average[s] += policy[s] * debt
                            infoset = ties[infoset, 1]
                if tied:
                    for visit in range(begin, end):
                        infoset = ties[members[visit] if passed else met[visit], 0]
                        leader = infosets[infoset]["first_sequence"]
                        count = np.int64(infosets[infoset]["num_actions"])
                        total = 0.0
                        for s in range(leader, leader + count):
                            if rule == _REGRET_MATCHING_PLUS and memory[s] < 0.0:
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

                if passed:
                    for visit in range(begin, end):
                        infoset = members[visit]
                        start = infosets[infoset]["first_sequence"]
                        stop = start + infosets[infoset]["num_actions"]
                        mass = plan[infosets[infoset]["parent"]]
                        for s in range(start, stop):
                            average[s] += share * plan[s]
                            plan[s] = mass * policy[s]
                num_met = 0
                for sequence in range(num_players):
                    gradient[sequence] = 0.0
            player = (player + 1) % num_players

        cursor[ITERATION] = iteration
        cursor[PLAYER] = player
        cursor[TOP] = top
        cursor[NUM_MET] = num_met
        cursor[NODES_TOUCHED] = touched
        return status

    return iterate


@jit
def restart_walk(infosets, tables, walk):
    """Takes back what the present walk has done, so that it begins at the root.

    What it paid to the average stays: the debts are paid.
    """
    gradient, is_met = tables.gradient, tables.is_met
    met, cursor = walk.met, walk.cursor
    for visit in range(cursor[NUM_MET_BEFORE], cursor[NUM_MET]):
        infoset = met[visit]
        is_met[infoset] = 0
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            gradient[s] = 0.0
    gradient[cursor[PLAYER]] = 0.0
    cursor[NUM_MET] = cursor[NUM_MET_BEFORE]
    cursor[NODES_TOUCHED] = cursor[NODES_TOUCHED_BEFORE]
    walk.node[0] = 0
    walk.sequence[0] = cursor[PLAYER]
    walk.weight[0] = 1.0
    walk.place[0] = ROOT_PLACE
    cursor[TOP] = 1


@jit
def start_infosets(infosets, known, tables, rule, seed, initial_regret):
    """Starts the tables of all infosets from number `known` on.

    Cumulative regrets start at random in [0, initial_regret), the rest uniform.
    """
    policy, memory = tables.policy, tables.memory
    for infoset in range(known, len(infosets)):
        start = infosets[infoset]["first_sequence"]
        count = infosets[infoset]["num_actions"]
        stream = stream_key(seed, 0, 0, 1)
        total = 0.0
        for child in range(count):
            place = child_place(infosets[infoset]["place"], child)
            regret = initial_regret * uniform(stream, place)
            memory[start + child] = regret
            total += regret
        for s in range(start, start + count):
            policy[s] = memory[s] / total if total > 0.0 else 1.0 / count
            if rule == _OMD:
                memory[s] = math.log(policy[s])
        if rule >= _FTRL and tables.weight[infoset] == 0.0:
            tables.weight[infoset] = 1.0


@jit
def join_policies(infosets, ties, known, policy):
    """Gives infosets from number `known` on the policy of their leaders."""
    for infoset in range(known, len(ties)):
        start = infosets[infoset]["first_sequence"]
        leader = infosets[ties[infoset, 0]]["first_sequence"]
        for k in range(infosets[infoset]["num_actions"]):
            policy[start + k] = policy[leader + k]


@jit
def join_averages(infosets, ties, average):
    """Gives tied infosets the sum of their sums of plans."""
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


@jit
def normalize(infosets, average):
    """Turns sums of plans into a policy, uniform where the player never plays to.

    Equal sums become 1 / count to the bit, as at infosets that a tree has not met.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        stop = start + infosets[infoset]["num_actions"]
        total = 0.0
        are_equal = True
        for s in range(start, stop):
            total += average[s]
            are_equal = are_equal and average[s] == average[start]
        for s in range(start, stop):
            average[s] = 1.0 / (stop - start) if are_equal else average[s] / total


@jit
def settle_average(infosets, policy, average, paid):
    """Adds to `average` what every infoset owes it, so that it holds whole sums."""
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        debt = average[infosets[infoset]["parent"]] - paid[infoset]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            average[s] += policy[s] * debt


# --- whole passes ------------------------------------------------------------


@jit
def walk_leaves(tree, next_row, others, payoffs, fill):
    """Goes over a complete tree, depth first, to make the rows of `Passes`.

    Args:
        next_row: `[S]` int64. Counts the rows of each sequence, or with `fill` says
            where its next one goes.
    """
    nodes, utilities = tree.nodes, tree.utilities
    chance_probs = tree.chance_probs
    num_players = utilities.shape[1]
    height = 1024
    stack_node = np.empty(height, np.int32)
    stack_prob = np.empty(height)
    stack_sequences = np.empty((height, num_players), np.int32)
    mine = np.arange(num_players).astype(np.int32)
    stack_node[0] = 0
    stack_prob[0] = 1.0
    stack_sequences[0] = mine
    top = 1
    while top > 0:
        top -= 1
        prob = stack_prob[top]
        mine[:] = stack_sequences[top]
        record = nodes[stack_node[top]]
        acting = record["player"]
        start = record["start"]
        if acting == TERMINAL:
            for player in range(num_players):
                row = next_row[mine[player]]
                next_row[mine[player]] += 1
                if fill:
                    payoffs[row] = prob * utilities[start, player]
                    for p in range(num_players):
                        if p != player:
                            others[row, p - (p > player)] = mine[p]
            continue
        count = np.int64(record["num_children"])
        first = record["first_child"]
        if top + count > height:
            more = top + count
            stack_node = np.concatenate((stack_node, np.empty(more, np.int32)))
            stack_prob = np.concatenate((stack_prob, np.empty(more)))
            stack_sequences = np.concatenate(
                (stack_sequences, np.empty((more, num_players), np.int32))
            )
            height += more
        for child in range(count - 1, -1, -1):
            stack_node[top] = first + child
            stack_prob[top] = prob
            stack_sequences[top] = mine
            if acting == CHANCE_NODE:
                stack_prob[top] = prob * chance_probs[start + child]
            else:
                stack_sequences[top, acting] = start + child
            top += 1


@jit
def fill_gradient(infosets, passes, player, plan, gradient):
    """Writes a player's utility gradient at the leaves, given all plans `[S]`."""
    ends, others, payoffs, members, member_ends = passes
    for m in range(member_ends[player] - 1, member_ends[player + 1]):
        start, count = player, 1
        if m >= member_ends[player]:
            start = infosets[members[m]]["first_sequence"]
            count = infosets[members[m]]["num_actions"]
        for s in range(start, start + count):
            value = 0.0
            if others.shape[1] == 1:  # the same, without the inner loop's cost
                for row in range(ends[s], ends[s + 1]):
                    value += payoffs[row] * plan[others[row, 0]]
            else:
                for row in range(ends[s], ends[s + 1]):
                    reach = payoffs[row]
                    for other in range(others.shape[1]):
                        reach *= plan[others[row, other]]
                    value += reach
            gradient[s] = value


@jit
def fill_plan(infosets, policy, plan):
    """Writes the plans of all players from their policies."""
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        mass = plan[infosets[infoset]["parent"]]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            plan[s] = mass * policy[s]


@jit
def best_response(infosets, members, gradient, choice):
    """Maximizes over one player's plans, bottom up.

    Args:
        members: the player's infosets, ancestors first.
        gradient: `[S]` the gradient at the leaves; changed to the values of sequences.
        choice: `[I]` gets the first sequence of the highest value at each infoset.
    """
    for m in range(len(members) - 1, -1, -1):
        infoset = members[m]
        start = infosets[infoset]["first_sequence"]
        best = start
        for s in range(start + 1, start + infosets[infoset]["num_actions"]):
            if gradient[s] > gradient[best]:
                best = s
        choice[infoset] = best
        gradient[infosets[infoset]["parent"]] += gradient[best]


@jit
def count_sequences(infosets, counts):
    """Adds to `counts` `[S]`, ones at first, the sequences at and below each one."""
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += counts[s]
        counts[infosets[infoset]["parent"]] += total


@jit
def dilate(infosets, below, weight):
    """Sets each infoset's weight to 2 + 2 max over actions of the weights below.

    `below` `[S]` is zeros at first. Kroer, Waugh, Kilinc-Karzan, Sandholm 2020.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        most = 0.0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            most = max(most, below[s])
        weight[infoset] = 2.0 + 2.0 * most
        below[infosets[infoset]["parent"]] += weight[infoset]
