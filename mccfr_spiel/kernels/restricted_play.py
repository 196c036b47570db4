"""Regret matching+ and best responses of a player whose play is partly given.

At each infoset I the player follows a known policy with the probability share(I), and
chooses a policy c with the rest: b = share known + (1 - share) c. With share 0 the
player is free.
"""

import numpy as np

from mccfr_spiel.kernels.jit import jit


@jit(nogil=True)
def match_regrets_beside(
    infosets: np.ndarray,
    player: int,
    known: np.ndarray,
    share: np.ndarray,
    gradient: np.ndarray,
    regrets: np.ndarray,
    policy: np.ndarray,
) -> None:
    """Updates the policies of a player by regret matching+, children before parents.

    The value of an action for c is share <known, G> + (1 - share) G(a), where G is the
    gradient, and the value of the infoset is <b, G>.

    Args:
        infosets: `[I]` all infosets of the game.
        player: the updated player.
        known: `[S]` known policies; read only where `share` is positive.
        share: `[I]` probability of following the known policy.
        gradient: `[S]` the player's payoffs of leaves right after each sequence. Values
            of infosets are added.
        regrets: `[S]` cumulative regrets; updated at the player's sequences.
        policy: `[S]` policies b; updated at the player's sequences.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[infoset]
        if record["player"] != player:
            continue
        start, stop = (
            record["first_sequence"],
            record["first_sequence"] + record["num_actions"],
        )
        given, value, total = share[infoset], 0.0, 0.0
        for s in range(start, stop):
            value += policy[s] * gradient[s]
        centre = 0.0
        if given > 0.0:
            for s in range(start, stop):
                centre += known[s] * gradient[s]
        for s in range(start, stop):
            own = given * centre + (1.0 - given) * gradient[s]
            regrets[s] = max(regrets[s] + own - value, 0.0)
            total += regrets[s]
        for s in range(start, stop):
            free = regrets[s] / total if total > 0.0 else 1.0 / (stop - start)
            policy[s] = free
            if given > 0.0:
                policy[s] = given * known[s] + (1.0 - given) * free
        gradient[record["parent"]] += value


@jit(nogil=True)
def respond_beside(
    infosets: np.ndarray, known: np.ndarray, share: np.ndarray, values: np.ndarray
) -> None:
    """Adds the values of best responses, children before parents.

    An infoset is worth share <known, values> + (1 - share) max over actions of values.

    Args:
        infosets: `[I]` all infosets of the game.
        known, share: see `match_regrets_beside`.
        values: `[S]` payoffs of leaves right after each sequence; values of infosets
            are added. The entries of the empty sequences are the results.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[infoset]
        start = record["first_sequence"]
        given, centre, highest = share[infoset], 0.0, -np.inf
        for s in range(start, start + record["num_actions"]):
            if given > 0.0:
                centre += known[s] * values[s]
            highest = max(highest, values[s])
        values[record["parent"]] += given * centre + (1.0 - given) * highest
