"""The linear program of a game with trembles.

Every action of an infoset with n actions has at least the probability
f = min(tremble, 1 / (2 n)). For plans this is linear: q(Ia) >= f q(parent of I), see
Farina, Kroer and Sandholm (2017). In matrix form it is E x >= 0 for player 0 and
D y >= 0 for player 1.
The program, with the variables of programs.py and more variables w:

    maximize f2' v   subject to   A' x - F2' v - D' w = 0,   F1 x = f1,
                                  E x >= 0,   w >= 0.

The multipliers of the first constraints are player 1's plan.
"""

import numpy as np
import scipy.sparse

from mccfr_spiel.offline.factorization import Csr, csr
from mccfr_spiel.offline.programs import LinearProgram
from mccfr_spiel.offline.sequence_forms import SequenceForm, Treeplex, constraints


def trembling_program_of(form: SequenceForm, tremble: float) -> LinearProgram:
    """Makes the linear program.

    In the result, the inequalities are E x >= 0 and w >= 0. The last m1 equalities have
    player 1's plan as multipliers, for the m1 sequences of player 1.

    Args:
        form: the sequence form of the game.
        tremble: smallest probability of an action, see the top of the file.
    """
    own, own_right = constraints(form.treeplexes[0])
    other, other_right = constraints(form.treeplexes[1])
    floors = [_floor_matrix(plex, tremble) for plex in form.treeplexes]
    num_other = floors[1].shape[0]
    block = scipy.sparse.block_array
    empty = csr((own.shape[0], other.shape[0]))
    ones = scipy.sparse.eye_array(num_other)
    equalities = block([[own, empty, None], [form.payoffs.T, -other.T, -floors[1].T]])
    no_values = csr((floors[0].shape[0], other.shape[0]))
    inequalities = block([[floors[0], no_values, None], [None, None, ones]])
    num_plan, num_values = own.shape[1], len(other_right)
    cost = np.zeros(equalities.shape[1])
    cost[num_plan : num_plan + num_values] = -other_right
    return LinearProgram(
        cost,
        csr(inequalities),
        csr(equalities),
        np.concatenate((own_right, np.zeros(num_other))),
        num_plan,
        num_values,
    )


def _floor_matrix(plex: Treeplex, tremble: float) -> Csr:
    """`[m, m]` the matrix E with E q >= 0 for plans q within the trembles.

    Row s has 1 in column s and -f in the column of the parent sequence; the row of the
    empty sequence has 1 only.
    """
    count = plex.num_sequences
    floors = np.minimum(tremble, 0.5 / plex.num_actions)
    sequences = np.arange(1, count)
    columns = np.repeat(plex.parent, plex.num_actions)
    values = -np.repeat(floors, plex.num_actions)
    below = scipy.sparse.coo_array((values, (sequences, columns)), (count, count))
    return csr(scipy.sparse.eye_array(count) + below)
