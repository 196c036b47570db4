"""The convergence theorems: the quantities they need and the bounds they give.

Lanctot, Waugh, Zinkevich, Bowling 2009 bound the average regret of MCCFR in terms of a
player's *M-value* and the least sampling probability. Farina, Kroer, Sandholm 2020
bound the gap in terms of the range of the gradient estimates. Each bound is a function
of the number of iterations T, which may be an array, so that the bound can be drawn
beside a measured curve.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyspiel

from mccfr_spiel.algorithms import UNIFORM, Algorithm, algorithm_of, regret_matching
from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.whole import depth_of
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.policies.names import sequences_of, uniform_vector

Numbers = npt.ArrayLike


class PlayerTheory(NamedTuple):
    """The quantities of one player that appear in the theorems.

    Attributes:
        num_infosets: |I_i|.
        num_sequences: |Sigma_i|, the empty sequence included.
        max_actions: |A_i|, the most actions at one infoset.
        m_value: M_i, between sqrt|I_i| and |I_i|.
        utility_range: largest minus least return.
        least_probability: delta of outcome sampling, see `least_sampling_probability`.
        balanced_probability: a lower bound on the same quantity for balanced outcome
            sampling, 1 / (|Sigma_i| - 1).
    """

    num_infosets: int
    num_sequences: int
    max_actions: int
    m_value: float
    utility_range: float
    least_probability: float
    balanced_probability: float


def player_theory(
    game: pyspiel.Game | str | GameTree, *, epsilon: float = 0.6
) -> tuple[PlayerTheory, ...]:
    """Computes the quantities of every player.

    Args:
        game: a game, its load string or its tree, which is expanded whole.
        epsilon: the exploration of outcome sampling.

    Raises:
        ValueError: the tree cannot be made (see GameTree), or epsilon is not in (0, 1].
    """
    tree = complete_table(game)
    values = m_values(tree)
    ranges = np.ptp(tree.utilities, axis=0)
    counts = tree.infosets["num_actions"]
    players = []
    for player in range(tree.num_players):
        actions = counts[tree.infosets["player"] == player]
        num_sequences = 1 + int(actions.sum())
        players.append(
            PlayerTheory(
                num_infosets=len(actions),
                num_sequences=num_sequences,
                max_actions=int(actions.max(initial=0)),
                m_value=values[player],
                utility_range=float(ranges[player]),
                least_probability=least_sampling_probability(tree, player, epsilon),
                balanced_probability=1 / max(num_sequences - 1, 1),
            )
        )
    return tuple(players)


def m_values(game: pyspiel.Game | str | GameTree) -> tuple[float, ...]:
    """Each player's M_i: the sum over own action sequences of sqrt(number of infosets).

    An *own action sequence* is a sequence of the player's actions, regardless of the
    infosets where they were taken. An infoset belongs to the sequence of the actions
    that lead to it (Lanctot et al. 2009, section 3).
    """
    tree = complete_table(game)
    infosets = tree.infosets
    owner = np.repeat(np.arange(tree.num_infosets), infosets["num_actions"])
    owner = np.concatenate((np.full(tree.num_players, -1), owner)).tolist()
    actions = tree.actions.tolist()
    # An own action sequence is identified by its prefix's number and its last action.
    numbers: dict[tuple[int, int], int] = {}
    group = [0] * tree.num_infosets
    for infoset, parent in enumerate(infosets["parent"].tolist()):
        before = owner[parent]
        key = (-1, parent) if before < 0 else (group[before], actions[parent])
        group[infoset] = numbers.setdefault(key, len(numbers))
    player = infosets["player"]
    sizes = np.array(group, np.int64)
    return tuple(
        float(np.sqrt(np.bincount(sizes[player == p])).sum())
        for p in range(tree.num_players)
    )


def longest_history(game: pyspiel.Game | str | GameTree) -> int:
    """The length of the game's longest history, counted in moves including chance's."""
    return depth_of(complete_table(game).nodes)


def least_sampling_probability(
    game: pyspiel.Game | str | GameTree, player: int, epsilon: float
) -> float:
    """The delta of Theorem 5 that holds for all policies.

    Outcome sampling draws each action of the updating player with probability at least
    epsilon / |A(I)|. Chance and the opponents are sampled with the same probabilities
    by which they weigh the history, so those cancel. What remains is a division of the
    payoff by the product of the player's own sampling probabilities, and delta is the
    least value that this product can take.
    """
    epsilon = refusals.number(epsilon, "epsilon", 0, 1, open_low=True)
    tree = complete_table(game)
    player = refusals.player(player, tree.num_players)
    draws = uniform_vector(tree)
    draws[tree.num_players :] *= epsilon
    plan = full_pass(tree).plan(draws)
    return float(plan[sequences_of(tree, player)].min(initial=1.0))


# --- bounds ------------------------------------------------------------------


def _counts(iterations: Numbers) -> np.ndarray:
    counts = refusals.numbers(iterations, "iterations")
    if not (counts > 0).all():
        raise ValueError(f"iterations={iterations} must be above 0.")
    return counts


def _failure(p: float) -> float:
    return refusals.number(p, "the probability of failure p", 0, 1, open_low=True)


def cfr_regret_bound(player: PlayerTheory, iterations: Numbers) -> np.ndarray:
    """Theorem 3 of Lanctot et al. 2009: after T iterations the average regret of CFR is
    at most `range M sqrt|A| / sqrt T`."""
    counts = _counts(iterations)
    scale = player.utility_range * player.m_value * np.sqrt(player.max_actions)
    return scale / np.sqrt(counts)


def external_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float
) -> np.ndarray:
    """Theorem 4: with probability 1 - p the average regret is at most `1 + sqrt(2 / p)`
    times the bound of CFR."""
    return (1 + np.sqrt(2 / _failure(p))) * cfr_regret_bound(player, iterations)


def outcome_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float, delta: float | None = None
) -> np.ndarray:
    """Theorem 5: with probability 1 - p the average regret is at most 1 / delta times
    the bound of external sampling.

    `delta` defaults to the player's `least_probability`.
    """
    delta = player.least_probability if delta is None else delta
    delta = refusals.number(delta, "delta", 0, 1, open_low=True)
    return external_sampling_regret_bound(player, iterations, p) / delta


def estimate_range(player: PlayerTheory, sampling: str) -> float:
    """Mt_i of Proposition 2, the largest error of an estimated payoff.

    Args:
        player: the quantities of one player.
        sampling: "external", "chance" or "opponent": the utility range; "balanced":
            |Sigma_i| - 1 times that; "outcome": 1 / delta times that.
    """
    factors = {
        "external": 1.0,
        "chance": 1.0,
        "opponent": 1.0,
        "balanced": 1 / player.balanced_probability,
        "outcome": 1 / player.least_probability,
    }
    refusals.choice(sampling, "sampling", factors)
    return player.utility_range * factors[sampling]


def gap_bound(
    players: tuple[PlayerTheory, ...],
    iterations: Numbers,
    p: float,
    regrets: tuple[Numbers, Numbers],
    sampling: str,
) -> np.ndarray:
    """Proposition 2 of Farina et al. 2020, on the gap of the average policies.

    With probability 1 - 2p the saddle-point gap is at most
    `(R1 + R2) / T + (2 range + Mt1 + Mt2) sqrt(2 / T log(1 / p))`.

    Args:
        players: the quantities of both players.
        iterations: T.
        p: a probability in (0, 1).
        regrets: each player's total regret *on the estimates* after T iterations, or a
            bound on it.
        sampling: see `estimate_range`.
    """
    counts, p = _counts(iterations), _failure(p)
    if not isinstance(players, tuple):
        raise ValueError(f"players={players!r} is no tuple of two PlayerTheory.")
    if len(players) != 2:
        raise ValueError(f"Proposition 2 is about two players, not {len(players)}.")
    first, second = (refusals.numbers(regret, "regrets") for regret in regrets)
    spread = 2 * players[0].utility_range
    spread += sum(estimate_range(player, sampling) for player in players)
    return (first + second) / counts + spread * np.sqrt(2 / counts * np.log(1 / p))


def check_covered(game: pyspiel.Game, algorithm: Algorithm) -> None:
    """Raises ValueError unless a theorem of `nash_conv_bound` covers both."""
    sampling, minimizer, averaging, *_ = algorithm
    if not is_two_player_constant_sum(game):
        raise ValueError(
            f"Regrets bound no NashConv in {brief(game)}: it is no two-player zero-sum "
            "game."
        )
    if minimizer != regret_matching() or averaging != UNIFORM:
        words = minimizer.rule
        if minimizer.rule == regret_matching().rule and minimizer != regret_matching():
            words += " from other regrets than 0"
        if averaging != UNIFORM:
            words += f" with the {averaging}"
        raise ValueError(
            f"No theorem bounds NashConv of {words}. "
            "Theorems 3 to 5 are about regret matching that starts from regrets of 0, "
            "with the uniform average. Use minimizer=regret_matching and "
            "averaging=uniform, or do without the bound."
        )
    prunes_by_regret = sampling.prunes_by_regret or sampling.prune_below is not None
    if sampling.picks_actions or prunes_by_regret:
        raise ValueError(
            f"Theorems 3 to 5 are about full, external and outcome sampling, not about "
            f"{sampling}."
        )
    if sampling.baseline:
        raise ValueError(
            "Theorems 4 and 5 are about estimates without baselines, which change how "
            "far an estimate can be from what it estimates."
        )
    if algorithm.batch != 1:
        raise ValueError(
            f"Theorems 4 and 5 are about one walk for a player, not {algorithm.batch}."
        )
    everyone_else = sampling.chance and sampling.opponents
    if sampling.is_sampled and (not everyone_else or sampling.player == "balanced"):
        raise ValueError(
            "No theorem bounds NashConv in advance for this sampling: Theorems 4 and 5 "
            "are about external and outcome sampling. Use sampling=external or "
            "sampling=outcome, or do without the bound. After a run, gap_bound "
            "(Proposition 2) bounds NashConv by its regrets."
        )


def nash_conv_bound(
    game: pyspiel.Game | str | GameTree, algorithm: Algorithm | str, p: float = 0.05
) -> Callable[[Numbers], np.ndarray]:
    """The theorems' bound on NashConv of the average policy, as a function of T.

    NashConv is at most the sum of the players' average regrets. The bound is therefore
    the sum of the players' bounds by Theorem 3 (nothing sampled), or by Theorem 4 or 5,
    each of which then fails with probability p / 2. The theorems assume simultaneous
    updates; with alternating updates the same curve is returned.

    Raises:
        ValueError: no theorem covers the algorithm or the game, or p is not in (0, 1].
    """
    tree, algorithm = complete_table(game), algorithm_of(algorithm)
    check_covered(tree.game, algorithm)
    sampling = algorithm.sampling
    p = _failure(p)
    players = player_theory(tree, epsilon=sampling.epsilon or 1.0)

    def bound(iterations: Numbers) -> np.ndarray:
        if not sampling.is_sampled:
            return np.add(*(cfr_regret_bound(q, iterations) for q in players))
        theorem = external_sampling_regret_bound
        if sampling.player != "all":
            theorem = outcome_sampling_regret_bound
        return np.add(*(theorem(q, iterations, p / 2) for q in players))

    return bound
