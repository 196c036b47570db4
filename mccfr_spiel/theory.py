"""The quantities and the bounds of the convergence theorems.

Lanctot, Waugh, Zinkevich, Bowling 2009 bound the average regret of MCCFR by the
*M-value* of a player and the least sampling probability; Farina, Kroer, Sandholm 2020
bound the gap by the range of the gradient estimates. A bound is a function of the
number of iterations T, which may be an array, so that it can be drawn beside a curve.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyspiel

from mccfr_spiel.algorithms import UNIFORM, Algorithm
from mccfr_spiel.compile import jit
from mccfr_spiel.evaluation import is_two_player_constant_sum
from mccfr_spiel.game_tree import CHANCE_NODE, GameTree
from mccfr_spiel.policy import complete_tree

Numbers = npt.ArrayLike


class PlayerTheory(NamedTuple):
    """What the theorems ask of one player of a game.

    Attributes:
        num_infosets: |I_i|.
        num_sequences: |Sigma_i|, the empty sequence included.
        max_actions: |A_i|, the most actions at one infoset.
        m_value: M_i, between sqrt|I_i| and |I_i|.
        utility_range: largest minus least return.
        least_probability: delta of outcome sampling, see `least_sampling_probability`.
        balanced_probability: the same of balanced outcome sampling: 1 / (|Sigma_i| - 1)
            or more.
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
    """The quantities of every player.

    Args:
        game: a game, its load string or its tree, which is expanded whole.
        epsilon: of outcome sampling.

    Raises:
        ValueError: the tree cannot be made (see GameTree), or epsilon is not in (0, 1].
    """
    tree = complete_tree(game)
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
    """Each player's M_i, a sum over own action sequences of sqrt(number of infosets).

    An *own action sequence* is the player's actions alone, not the infosets where they
    were taken; an infoset belongs to that of the actions before it (Lanctot et al.
    2009, section 3).
    """
    tree = complete_tree(game)
    infosets = tree.infosets
    owner = np.repeat(np.arange(tree.num_infosets), infosets["num_actions"])
    owner = np.concatenate((np.full(tree.num_players, -1), owner)).tolist()
    actions = tree.actions.tolist()
    # An own action sequence is numbered by (that of the infoset before, the action).
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


@jit
def _longest(nodes, depth):
    """The largest depth of a node; `depth` is `[N]` zeros, overwritten."""
    longest = 0
    for node in range(len(nodes)):
        below = depth[node] + 1
        first = nodes[node]["first_child"]
        for child in range(first, first + nodes[node]["num_children"]):
            depth[child] = below
            longest = max(longest, below)
    return longest


def longest_history(game: pyspiel.Game | str | GameTree) -> int:
    """The number of moves, chance's included, in the game's longest history."""
    tree = complete_tree(game)
    return int(_longest(tree.nodes, np.zeros(tree.num_nodes, np.int32)))


@jit
def _least_products(first_sequence, parent, num_actions, share, products):
    """The least product of `share` / (number of actions) down to each sequence."""
    for i in range(len(parent)):
        start = first_sequence[i]
        value = products[parent[i]] * share / num_actions[i]
        for s in range(start, start + num_actions[i]):
            products[s] = value


def least_sampling_probability(
    game: pyspiel.Game | str | GameTree, player: int, epsilon: float
) -> float:
    """The delta of Theorem 5 that holds whatever the policies are.

    Outcome sampling draws an action of the updating player with probability epsilon /
    |A(I)| or more. Everyone else is sampled by the very probabilities that weigh the
    history in the regret, and cancels; so what divides the payoff is the product of
    these shares along the player's own sequence, and delta the least one.
    """
    if not 0 < epsilon <= 1:
        raise ValueError(f"epsilon={epsilon} is not in (0, 1].")
    tree = complete_tree(game)
    if not 0 <= player < tree.num_players:
        raise ValueError(f"player={player} is not in 0 .. {tree.num_players - 1}.")
    infosets = tree.infosets
    products = np.ones(tree.num_sequences)
    _least_products(
        infosets["first_sequence"].astype(np.int64),
        infosets["parent"].astype(np.int64),
        infosets["num_actions"].astype(np.int64),
        epsilon,
        products,
    )
    mine = infosets["player"] == player
    starts = infosets["first_sequence"][mine]
    return float(products[starts].min(initial=1.0))


@jit
def _least_history(nodes, chance_probs, policy, share, player, products):
    """The least probability > 0 with which a walk ends at a terminal history."""
    products[0] = 1.0
    least = 1.0
    for node in range(len(nodes)):
        record = nodes[node]
        acting = record["player"]
        count = np.int64(record["num_children"])
        if count == 0:
            if products[node] > 0.0:
                least = min(least, products[node])
            continue
        for child in range(count):
            entry = record["start"] + child
            if acting == CHANCE_NODE:
                q = chance_probs[entry]
            elif acting == player:
                q = (1.0 - share) * policy[entry] + share / count
            else:
                q = policy[entry]
            products[record["first_child"] + child] = products[node] * q
    return least


def least_history_probability(
    game: pyspiel.Game | str | GameTree,
    player: int,
    epsilon: float,
    policy: np.ndarray,
) -> float:
    """The least q(z) > 0 of a walk of outcome sampling, chance and opponents included.

    This is the delta of Theorem 5 as it is printed, for one policy; it moves with the
    policy, and is far below `least_sampling_probability`.

    Args:
        player: the updating one.
        epsilon: share of the uniform policy in its draws.
        policy: `[S]` over the tree's sequences.
    """
    tree = complete_tree(game)
    products = np.empty(tree.num_nodes)
    return float(
        _least_history(tree.nodes, tree.chance_probs, policy, epsilon, player, products)
    )


# --- bounds ------------------------------------------------------------------


def _check(iterations: Numbers, confidence: float | None = None) -> np.ndarray:
    counts = np.asarray(iterations, float)
    if not (counts > 0).all():
        raise ValueError(f"iterations={iterations} must be above 0.")
    if confidence is not None and not 0 < confidence <= 1:
        raise ValueError(f"p={confidence}, a probability of failure, is not in (0, 1].")
    return counts


def cfr_regret_bound(player: PlayerTheory, iterations: Numbers) -> np.ndarray:
    """Theorem 3 of Lanctot et al. 2009: average regret of CFR after T iterations,
    `range M sqrt|A| / sqrt T`."""
    counts = _check(iterations)
    scale = player.utility_range * player.m_value * np.sqrt(player.max_actions)
    return scale / np.sqrt(counts)


def external_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float
) -> np.ndarray:
    """Theorem 4: with probability 1 - p, `1 + sqrt(2 / p)` times that of CFR."""
    _check(iterations, p)
    return (1 + np.sqrt(2 / p)) * cfr_regret_bound(player, iterations)


def outcome_sampling_regret_bound(
    player: PlayerTheory, iterations: Numbers, p: float, delta: float | None = None
) -> np.ndarray:
    """Theorem 5: with probability 1 - p, 1 / delta times that of external sampling.

    `delta` is the player's `least_probability` if not given.
    """
    delta = player.least_probability if delta is None else delta
    if not 0 < delta <= 1:
        raise ValueError(f"delta={delta} is not a probability above 0.")
    return external_sampling_regret_bound(player, iterations, p) / delta


def estimate_range(player: PlayerTheory, sampling: str) -> float:
    """Mt_i of Proposition 2: how far an estimated payoff can be off.

    Args:
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
    if sampling not in factors:
        raise ValueError(f"sampling={sampling!r} is none of {', '.join(factors)}.")
    return player.utility_range * factors[sampling]


def gap_bound(
    players: tuple[PlayerTheory, ...],
    iterations: Numbers,
    p: float,
    regrets: tuple[Numbers, Numbers],
    sampling: str,
) -> np.ndarray:
    """Proposition 2 of Farina et al. 2020: saddle-point gap of the average policies.

    With probability 1 - 2p it is at most
    `(R1 + R2) / T + (2 range + Mt1 + Mt2) sqrt(2 / T log(1 / p))`.

    Args:
        players: both.
        p: in (0, 1).
        regrets: each player's total regret after T iterations *on the estimates*, or a
            bound on it.
        sampling: see `estimate_range`.
    """
    counts = _check(iterations, p)
    if len(players) != 2:
        raise ValueError(f"Proposition 2 is about two players, not {len(players)}.")
    first, second = (np.asarray(regret, float) for regret in regrets)
    spread = 2 * players[0].utility_range
    spread += sum(estimate_range(player, sampling) for player in players)
    return (first + second) / counts + spread * np.sqrt(2 / counts * np.log(1 / p))


def check_covered(game: pyspiel.Game, algorithm: Algorithm) -> None:
    """Raises ValueError if `nash_conv_bound` knows no theorem for them."""
    sampling, minimizer, averaging, _ = algorithm
    if not is_two_player_constant_sum(game):
        raise ValueError(
            f"Regrets bound no NashConv in {game}: it is no two-player zero-sum game."
        )
    if (
        minimizer.rule != "regret_matching"
        or minimizer.initial_regret
        or averaging != UNIFORM
    ):
        raise ValueError(
            "Theorems 3 to 5 are about regret matching from regrets 0 with the uniform "
            f"average, not {minimizer.rule} from {minimizer.initial_regret} with "
            f"weights t^{averaging.gamma:g}."
        )
    everyone_else = sampling.chance and sampling.opponents
    if sampling.is_sampled and (not everyone_else or sampling.player == "balanced"):
        raise ValueError(
            "Theorems 4 and 5 are about external and outcome sampling; else there is "
            "only Proposition 2 (gap_bound), which needs the regrets of the run."
        )


def nash_conv_bound(
    game: pyspiel.Game | str | GameTree, algorithm: Algorithm, p: float = 0.05
) -> Callable[[Numbers], np.ndarray]:
    """The theorems' bound on NashConv of the average policy, as a function of T.

    NashConv is at most the sum of the players' average regrets, so the bound is the sum
    of those of Theorem 3 (nothing sampled), or of Theorem 4 or 5, each of which fails
    with probability p / 2. They are about players that move at once; where they move in
    turn it is the same curve.

    Raises:
        ValueError: no theorem covers the algorithm or the game, or p is not in (0, 1].
    """
    tree = complete_tree(game)
    check_covered(tree.game, algorithm)
    sampling = algorithm.sampling
    _check(1, p)
    players = player_theory(tree, epsilon=sampling.epsilon or 1.0)

    def bound(iterations: Numbers) -> np.ndarray:
        if not sampling.is_sampled:
            return np.add(*(cfr_regret_bound(q, iterations) for q in players))
        theorem = external_sampling_regret_bound
        if sampling.player != "all":
            theorem = outcome_sampling_regret_bound
        return np.add(*(theorem(q, iterations, p / 2) for q in players))

    return bound
