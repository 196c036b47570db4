"""Quantities and bounds of the convergence theorems.

Lanctot, Waugh, Zinkevich, Bowling 2009 bound the average regret of MCCFR. The bound
depends on a number of each player, the *M-value*, and on the smallest sampling
probability. Theorems are numbered as in this paper. Farina, Kroer, Sandholm 2020 bound
the saddle-point gap by the range of the gradient estimates (Proposition 2).

The bounds are functions of the number of iterations T. T may be an array, to plot a
bound together with a measured curve.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyspiel

from mccfr_spiel.algorithms import UNIFORM, Algorithm, algorithm_of, regret_matching
from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.levels import depth_of
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.policies.vectors import sequences_of, uniform_vector

Numbers = npt.ArrayLike


class PlayerTheory(NamedTuple):
    """The numbers of a player i in the theorems.

    Attributes:
        num_infosets: |I_i|, the number of the player's infosets.
        num_sequences: |Sigma_i|, the number of the player's sequences, including the
            empty sequence.
        max_actions: |A_i|, the largest number of actions at an infoset.
        m_value: M_i, between sqrt|I_i| and |I_i|, see `m_values`.
        utility_range: the player's largest return minus the smallest.
        least_probability: delta of outcome sampling, see `least_sampling_probability`.
        balanced_probability: a lower bound on delta for balanced outcome sampling,
            1 / (|Sigma_i| - 1).
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
    """Computes the numbers of every player in the theorems.

    Args:
        game: a game, its load string, or its tree, which is expanded completely.
        epsilon: the weight of the uniform policy in the draws of outcome sampling.

    Raises:
        ValueError: the tree cannot be expanded (see GameTree), or `epsilon` is not in
            (0, 1].
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
    """Computes the M-value M_i of each player (Lanctot et al. 2009, section 3).

    The infosets of a player are grouped: two infosets are in the same group if the
    player has taken the same actions before them, regardless of the infosets at which
    the actions were taken. M_i is the sum over groups of the square root of the number
    of infosets in the group.
    """
    tree = complete_table(game)
    infosets = tree.infosets
    owner = np.repeat(np.arange(tree.num_infosets), infosets["num_actions"])
    owner = np.concatenate((np.full(tree.num_players, -1), owner)).tolist()
    actions = tree.actions.tolist()
    # A group is identified by the group of the previous infoset and the action there.
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
    """The number of moves, including chance moves, of the longest history."""
    return depth_of(complete_table(game).nodes)


def least_sampling_probability(
    game: pyspiel.Game | str | GameTree, player: int, epsilon: float
) -> float:
    """Computes the number delta of Theorem 5, such that it holds for all policies.

    An estimate of outcome sampling is a payoff divided by the product of the
    probabilities with which the updated player's actions were drawn. Probabilities of
    chance and of other players cancel. An action at an infoset with n actions is drawn
    with a probability of at least epsilon / n. Delta is the smallest product of these
    numbers over all sequences of the player.

    Args:
        game: a game, its load string, or its tree, which is expanded completely.
        player: the updated player.
        epsilon: the weight of the uniform policy in the draws.
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
    """Bound on the average regret of CFR after T iterations (Theorem 3).

    It is `range M sqrt(A) / sqrt(T)`, with the player's utility range, M-value M and
    largest number of actions A.
    """
    counts = _counts(iterations)
    scale = player.utility_range * player.m_value * np.sqrt(player.max_actions)
    return scale / np.sqrt(counts)


def external_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float
) -> np.ndarray:
    """Bound on the average regret of external sampling (Theorem 4).

    It is `1 + sqrt(2 / p)` times the bound of CFR, and holds with probability 1 - p.
    """
    return (1 + np.sqrt(2 / _failure(p))) * cfr_regret_bound(player, iterations)


def outcome_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float, delta: float | None = None
) -> np.ndarray:
    """Bound on the average regret of outcome sampling (Theorem 5).

    It is 1 / delta times the bound of external sampling, and holds with probability
    1 - p. `delta` is the player's `least_probability` by default.
    """
    delta = player.least_probability if delta is None else delta
    delta = refusals.number(delta, "delta", 0, 1, open_low=True)
    return external_sampling_regret_bound(player, iterations, p) / delta


def estimate_range(player: PlayerTheory, sampling: str) -> float:
    """The largest absolute error of an estimated payoff of the player.

    This is the number Mt_i in Proposition 2 (an M with a tilde in the paper).

    | sampling | value |
    |---|---|
    | "external", "chance", "opponent" | utility range |
    | "balanced" | utility range times the number of nonempty sequences |
    | "outcome" | utility range / delta |
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
    """Bound on the saddle-point gap of the average policies (Farina, Kroer, Sandholm
    2020, Proposition 2).

    With probability 1 - 2p the gap is at most
    `(R1 + R2) / T + (2 range + Mt1 + Mt2) sqrt(2 / T log(1 / p))`.

    Args:
        players: the numbers of both players, which contain the utility range.
        iterations: T.
        p: a probability in (0, 1].
        regrets: R1 and R2: each player's total regret after T iterations, computed from
            the *estimated* gradients, or upper bounds on these regrets.
        sampling: name of the sampling, which determines Mt1 and Mt2, see
            `estimate_range`.
    """
    counts, p = _counts(iterations), _failure(p)
    if not isinstance(players, tuple):
        raise ValueError(f"players={players!r}: expected a tuple of two PlayerTheory.")
    if len(players) != 2:
        raise ValueError(
            f"players has {len(players)} entries: Proposition 2 is about two players."
        )
    first, second = (refusals.numbers(regret, "regrets") for regret in regrets)
    spread = 2 * players[0].utility_range
    spread += sum(estimate_range(player, sampling) for player in players)
    return (first + second) / counts + spread * np.sqrt(2 / counts * np.log(1 / p))


def check_covered(game: pyspiel.Game, algorithm: Algorithm) -> None:
    """Raises ValueError if no theorem of `nash_conv_bound` applies to the game and the
    algorithm."""
    sampling, minimizer, averaging, *_ = algorithm
    if not is_two_player_constant_sum(game):
        raise ValueError(
            f"No theorem bounds NashConv in {brief(game)}: expected a two-player "
            "zero-sum game."
        )
    if minimizer.tremble:
        raise ValueError(
            f"No theorem bounds NashConv with tremble={minimizer.tremble:g}, because "
            "the best responses of Theorems 3 to 5 do not tremble. Use tremble=0, or "
            "omit the bound."
        )
    if minimizer != regret_matching() or averaging != UNIFORM:
        description = minimizer.rule
        if minimizer.rule == regret_matching().rule and minimizer != regret_matching():
            description += " from other regrets than 0"
        if averaging != UNIFORM:
            description += f" with the {averaging}"
        raise ValueError(
            f"No theorem bounds NashConv of {description}. "
            "Theorems 3 to 5 are about regret matching that starts from regrets of 0, "
            "with the uniform average. Use minimizer=regret_matching and "
            "averaging=uniform, or omit the bound."
        )
    prunes_by_regret = sampling.prunes_by_regret or sampling.prune_below is not None
    if sampling.picks_actions or prunes_by_regret:
        raise ValueError(
            f"Theorems 3 to 5 are about full, external and outcome sampling, not about "
            f"{sampling}. Use one of these, or omit the bound."
        )
    if sampling.baseline:
        raise ValueError(
            "Theorems 4 and 5 are about estimates without baselines, because baselines "
            "change the range of an estimate. Omit the baseline or the bound."
        )
    if sampling.correlates_chance:
        raise ValueError(
            "Theorems 4 and 5 assume independent draws of chance, not "
            f"chance_draws={sampling.chance_draws!r}. Omit chance_draws or the bound."
        )
    if algorithm.batch != 1:
        raise ValueError(
            f"Theorems 4 and 5 are about one walk per player, not {algorithm.batch}. "
            "Use batch=1, or omit the bound."
        )
    everyone_else = sampling.chance and sampling.opponents
    if sampling.is_sampled and (not everyone_else or sampling.player == "balanced"):
        raise ValueError(
            "No theorem bounds NashConv in advance for this sampling: Theorems 4 and 5 "
            "are about external and outcome sampling. Use sampling=external or "
            "sampling=outcome, or omit the bound. After a run, gap_bound "
            "(Proposition 2) bounds NashConv by the regrets."
        )


def nash_conv_bound(
    game: pyspiel.Game | str | GameTree, algorithm: Algorithm | str, p: float = 0.05
) -> Callable[[Numbers], np.ndarray]:
    """Returns a function of T that bounds NashConv of the average policy.

    NashConv is at most the sum of the players' average regrets after T iterations. The
    bound is the sum of two bounds on these regrets: by Theorem 3 if nothing is sampled,
    by Theorem 4 for external sampling, and by Theorem 5 for outcome sampling. With
    sampling, each of the two bounds fails with probability p / 2. The theorems assume
    simultaneous updates; for alternating updates the function is the same.

    Args:
        game: a two-player zero-sum game, its load string, or its tree.
        algorithm: an algorithm or its name.
        p: largest probability with which the bound may fail, with sampling.

    Raises:
        ValueError: no theorem covers the algorithm or the game, or `p` is not in (0,
            1].
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
