"""The textbook: regret minimization with recursion and dictionaries.

An oracle for the compiled solvers. It reads the game from pyspiel, uses OpenSpiel's
information-state strings as names, and recomputes plans, averages and updates over the
whole game, without arrays and lazy updates. Only the draws come from
`mccfr_spiel.kernels.randomness`, so that a textbook and a solver with the same seed
follow the same paths.

A sequence of a player is `(info_state, action)`, or `EMPTY` before the first action.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyspiel

from mccfr_spiel.kernels.randomness import (
    ROOT_PLACE,
    child_place,
    infoset_place,
    stream_key,
    uniform,
)

EMPTY = ()
Sequence = tuple[str, int] | tuple[()]
Gradient = dict[Sequence, float]
Policy = dict[str, dict[int, float]]  # info_state -> action -> probability
Draw = Callable[[Any], float]  # place -> number in [0, 1)
Result = TypeVar("Result")


# The game, read once.


@dataclass
class Infoset:
    """An information set with its `parent` sequence."""

    player: int
    info_state: str
    actions: list[int]
    parent: Sequence

    @property
    def key(self) -> tuple[int, str]:
        return self.player, self.info_state

    @property
    def sequences(self) -> list[Sequence]:
        return [(self.info_state, action) for action in self.actions]


@dataclass
class Node:
    """A history: a decision has an infoset, a chance node probs, a terminal node
    returns.

    `place` identifies the draw at the node; at a decision it belongs to the infoset.
    """

    place: np.uint64
    infoset: Infoset | None = None
    probs: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


PRUNING_PLACE = np.uint64(0x13198A2E03707344)  # of the draw that decides about pruning


@np.errstate(over="ignore")
def action_place(infoset: Infoset, k: int) -> np.uint64:
    """The place of the draw that decides whether to follow action number `k`."""
    return np.uint64(child_place(np.uint64(infoset_place(*infoset.key)), k))


def turn_based(game: pyspiel.Game | str) -> pyspiel.Game:
    """The game with simultaneous moves converted to turns; accepts a name."""
    loaded = pyspiel.load_game(game) if isinstance(game, str) else game
    if loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(loaded)
    return loaded


@np.errstate(over="ignore")  # the hashes wrap around
def read_game(game: pyspiel.Game) -> tuple[Node, dict[tuple[int, str], Infoset]]:
    """The root, and the infosets by (player, info_state), ancestors first."""
    infosets: dict[tuple[int, str], Infoset] = {}

    def grow(state: pyspiel.State, place: np.uint64, last: list[Sequence]) -> Node:
        node = Node(place)
        if state.is_terminal():
            node.returns = state.returns()
            return node
        player = state.current_player()
        if state.is_chance_node():
            actions = [outcome for outcome, _ in state.chance_outcomes()]
            node.probs = [prob for _, prob in state.chance_outcomes()]
        else:
            actions = state.legal_actions()
            key = player, state.information_state_string(player)
            node.place = np.uint64(infoset_place(*key))
            node.infoset = infosets.setdefault(
                key, Infoset(*key, actions, last[player])
            )
            assert node.infoset.actions == actions, f"actions differ at {key}"
            assert node.infoset.parent == last[player], f"imperfect recall at {key}"
        for index, action in enumerate(actions):
            led = list(last)
            if node.infoset is not None:
                led[player] = (node.infoset.info_state, action)
            below = np.uint64(child_place(place, index))
            node.children.append(grow(state.child(action), below, led))
        return node

    start: list[Sequence] = [EMPTY] * game.num_players()
    root = grow(game.new_initial_state(), np.uint64(ROOT_PLACE), start)
    assert len({info_state for _, info_state in infosets}) == len(infosets), (
        f"two players of {game} share an information-state string"
    )
    return root, infosets


def balanced_strategy(infosets: dict) -> dict[tuple[int, str], list[float]]:
    """Plays each action in proportion to the number of sequences at and below it."""
    below: dict = defaultdict(int)
    strategy = {}
    for key, infoset in reversed(infosets.items()):
        counts = [1 + below[infoset.player, s] for s in infoset.sequences]
        below[infoset.player, infoset.parent] += sum(counts)
        strategy[key] = [count / sum(counts) for count in counts]
    return strategy


def dilated_weights(infosets: dict, weights: str) -> dict[tuple[int, str], float]:
    """The dilated entropy's beta of each infoset; `weights` is "constant" or
    "kroer"."""
    if weights == "constant":
        return dict.fromkeys(infosets, 1.0)
    below: dict = defaultdict(float)
    beta = {}
    for key, infoset in reversed(infosets.items()):
        beta[key] = 2 + 2 * max(below[infoset.player, s] for s in infoset.sequences)
        below[infoset.player, infoset.parent] += beta[key]
    return beta


# The local rules: (policy, memory, gradient, minimizer, beta, t) at an infoset give the
# next policy, the next memory and the value passed up. Lists in the order of the
# actions; the minimizer has the rule's parameters; beta is the weight of the dilated
# entropy; t is the iteration, from 1 on.


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def normalized(weights: list[float]) -> list[float]:
    total = sum(weights)
    if total <= 0:
        return [1 / len(weights)] * len(weights)
    return [weight / total for weight in weights]


def log_sum_exp(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def regret_matching(policy, memory, gradient, minimizer, beta, t):
    """Memory: the cumulative regrets (Zinkevich et al. 2007)."""
    value = dot(policy, gradient)
    memory = [regret + g - value for regret, g in zip(memory, gradient, strict=True)]
    return normalized([max(regret, 0.0) for regret in memory]), memory, value


def discounted_regret_matching(policy, memory, gradient, minimizer, beta, t):
    """Memory: the discounted regrets (Brown, Sandholm 2019)."""
    value = value_where_regrets_fade(policy, gradient)
    memory = [regret + (g - value) for regret, g in zip(memory, gradient, strict=True)]
    return normalized([max(regret, 0.0) for regret in memory]), memory, value


def value_where_regrets_fade(policy, gradient):
    """The value of the policy, at most the largest value of a played action despite
    rounding."""
    best = max(g for b, g in zip(policy, gradient, strict=True) if b > 0)
    return min(dot(policy, gradient), best)


def regret_matching_plus(policy, memory, gradient, minimizer, beta, t):
    """Memory: the regrets, floored at 0 after each update (Tammelin 2014)."""
    _, memory, value = regret_matching(policy, memory, gradient, minimizer, beta, t)
    memory = [max(regret, 0.0) for regret in memory]
    return normalized(memory), memory, value


def ftrl(policy, memory, gradient, minimizer, beta, t):
    """Memory: the sums of the gradients."""
    scale = minimizer.step_size / beta
    before = [scale * total for total in memory]
    memory = [total + g for total, g in zip(memory, gradient, strict=True)]
    after = [scale * total for total in memory]
    log_total = log_sum_exp(after)
    policy = [math.exp(value - log_total) for value in after]
    return policy, memory, (log_total - log_sum_exp(before)) / scale


def omd(policy, memory, gradient, minimizer, beta, t):
    """Memory: none; the policy is the center."""
    scale = minimizer.step_size / beta
    top = max(gradient)
    factors = [math.exp(scale * (g - top)) for g in gradient]
    weights = [b * factor for b, factor in zip(policy, factors, strict=True)]
    return normalized(weights), memory, top + math.log(sum(weights)) / scale


def predictive_regret_matching_plus(policy, memory, gradient, minimizer, beta, t):
    """Memory: the discounted regrets (Farina et al. 2021, Xu et al. 2024)."""
    value = value_where_regrets_fade(policy, gradient)
    now = [g - value for g in gradient]
    memory = [max(total + r, 0.0) for total, r in zip(memory, now, strict=True)]
    ahead = discounted(memory, minimizer, t + 1)
    ahead = [
        total + minimizer.prediction * r for total, r in zip(ahead, now, strict=True)
    ]
    return normalized([max(total, 0.0) for total in ahead]), memory, value


def magnetic_mirror_descent(policy, memory, gradient, minimizer, beta, t):
    """Memory: none; the policy is the center (Sokota et al. 2023)."""
    eta = minimizer.step_size / t**minimizer.step_power
    alpha = minimizer.temperature / t**minimizer.temperature_power
    magnet, top = 1 / len(policy), max(gradient)
    power = 1 / (1 + eta * alpha)
    weights = [
        (b * magnet ** (eta * alpha) * math.exp(eta * (g - top) / beta)) ** power
        for b, g in zip(policy, gradient, strict=True)
    ]
    next_policy = normalized(weights)
    value = dot(next_policy, gradient)
    for b, old in zip(next_policy, policy, strict=True):
        value -= beta / eta * b * math.log(b / old)
        value -= alpha * beta * b * math.log(b / magnet)
    return next_policy, memory, value


RULES = {
    "regret_matching": regret_matching,
    "regret_matching_plus": regret_matching_plus,
    "discounted_regret_matching": discounted_regret_matching,
    "predictive_regret_matching_plus": predictive_regret_matching_plus,
    "ftrl": ftrl,
    "omd": omd,
    "optimistic_ftrl": ftrl,
    "optimistic_omd": omd,
    "mmd": magnetic_mirror_descent,
}


def discounted(memory: list[float], minimizer: Any, t: int) -> list[float]:
    """The memories in iteration t after discounting.

    Positive entries stay positive, as in exact arithmetic.
    """

    def left(total: float, power: float, offset: float) -> float:
        k = t - 1
        kept = k**power / (k**power + offset) if k else 1.0  # no iteration yet
        return max(total * kept, sys.float_info.min) if total > 0 else total * kept

    if minimizer.rule == "discounted_regret_matching":
        done = min((t - 1) / minimizer.horizon, 1.0) if minimizer.horizon else 0.0
        alpha = minimizer.alpha + minimizer.alpha_change * done
        beta = minimizer.beta + minimizer.beta_change * done
        return [left(total, alpha if total > 0 else beta, 1.0) for total in memory]
    if getattr(minimizer, "alpha", None) is not None:
        return [left(total, minimizer.alpha, minimizer.offset) for total in memory]
    return memory


def choose(probs: list[float], u: float) -> int:
    """The first index whose cumulative probability exceeds `u` in [0, 1)."""
    total, chosen = 0.0, -1
    for index, prob in enumerate(probs):
        if prob > 0:
            total, chosen = total + prob, index
            if u < total:
                break
    return chosen


class Textbook:
    """Monte Carlo CFR and its relatives, for any number of players and general sums.

    Settings are attributes: `sampling` has chance, opponents, player, epsilon, prune,
    threshold, bonus, prune_below; `minimizer` has rule and its parameters; `averaging`
    has gamma. Initial regrets are 0. Tests may change `policy` and `memory`.
    """

    def __init__(
        self,
        game,
        sampling,
        minimizer,
        averaging,
        alternating=True,
        batch: int | str = 1,
        *,
        seed=0,
    ) -> None:
        self.game = turn_based(game)
        self.sampling = sampling
        self.minimizer = minimizer
        self.averaging = averaging
        self.alternating = alternating
        self.batch = batch
        self.seed = seed
        self.iteration = 0
        self.walks_before = 0  # per player, in earlier iterations
        self.nodes_touched = 0
        self.root, self.infosets = read_game(self.game)
        self.balanced = balanced_strategy(self.infosets)
        weights = getattr(minimizer, "weights", "constant")
        self.beta = dilated_weights(self.infosets, weights)
        self.policy = {}
        self.memory = {}
        self.baseline = {}  # (player, any sequence) -> the player's expected value
        self.paths = defaultdict(list)  # player -> walks to learn from, in order
        self.skipped = {}  # player -> sequences skipped by the last walk
        self.center = {}  # optimistic rules: the policy without the prediction
        self.sum_of_plans = {}  # by player and sequence, as in `plan`
        for key, infoset in self.infosets.items():
            self.policy[key] = normalized([0.0] * len(infoset.actions))
            self.center[key] = self.policy[key]
            self.memory[key] = [0.0] * len(infoset.actions)
            for sequence in infoset.sequences:
                self.sum_of_plans[infoset.player, sequence] = 0.0

    def run(self, iterations: int) -> None:
        """Runs iterations, with alternating or simultaneous updates."""
        players = range(self.game.num_players())
        turns = [[player] for player in players] if self.alternating else [players]
        for _ in range(iterations):
            self.walks_before += self.batch_now if self.iteration else 0
            self.iteration += 1
            for turn in turns:
                estimates = [self.estimate_batch(p) for p in turn]
                for player, gradient in zip(turn, estimates, strict=True):
                    self.add_to_average(player)
                    self.update(player, gradient)
                    if self.has_baselines and self.sampling.baseline == "predictive":
                        self.learn(player)

    @property
    def batch_now(self) -> int:
        """The number of walks in this iteration.

        "auto" is the largest power of two that is at most a 64th of the iterations,
        from 1 to 4096.
        """
        if isinstance(self.batch, int):
            return self.batch
        powers = [2**k for k in range(13)]
        return max(power for power in powers if power <= max(self.iteration / 64, 1))

    def estimate_batch(self, player: int) -> Gradient:
        """The sum of this iteration's estimates for `player` over the walks of the
        batch."""
        total: Gradient = {}
        for nth in range(self.batch_now):
            gradient = self.estimate(player, self.draws(player, nth))
            for sequence, value in gradient.items():
                total[sequence] = total.get(sequence, 0.0) + value
        if self.has_baselines and self.sampling.baseline == "learned":
            self.learn(player)
        return total

    @np.errstate(over="ignore")
    def draws(self, player: int, nth: int = 0) -> Draw:
        """The draws of walk number `nth` of this iteration for `player`: a number per
        place.

        Streams are numbered consecutively, batch after batch.
        """
        seed, players = np.uint64(self.seed), self.game.num_players()
        walk = self.walks_before + nth + 1
        stream = np.uint64(stream_key(seed, walk, player, players))
        return lambda place: uniform(stream, place)

    @np.errstate(over="ignore")
    def estimate(self, player: int, draw: Draw) -> Gradient:
        """One walk: the gradient of `player` at the leaves, and the visited
        sequences."""
        if self.has_baselines and self.sampling.player == "all":
            return self.estimate_branches(player, draw)
        if self.has_baselines:
            return self.estimate_by_values(player, draw)
        gradient: Gradient = {EMPTY: 0.0}
        sampling = self.sampling
        is_pruning = self.prunes(draw)
        self.skipped[player] = set()

        def walk(node: Node, weight: float, sequence: Sequence) -> None:
            self.nodes_touched += 1
            if node.returns:
                gradient[sequence] += weight * node.returns[player]
                return
            infoset, probs = node.infoset, self.distribution(node, player)
            if infoset is not None and infoset.player == player:
                for own in infoset.sequences:
                    gradient.setdefault(own, 0.0)
                if sampling.player in ("all", "average"):
                    likelihoods = self.follow_probabilities(infoset)
                    for k, own in enumerate(infoset.sequences):
                        if is_pruning and self.is_poor(infoset, k, node):
                            self.skipped[player].add(own)
                        elif likelihoods[k] == 1 or follows(infoset, k, likelihoods[k]):
                            walk(node.children[k], weight / likelihoods[k], own)
                else:
                    k = choose(probs, draw(node.place))
                    walk(node.children[k], weight / probs[k], infoset.sequences[k])
            elif sampling.chance if infoset is None else sampling.opponents:
                k = choose(probs, draw(node.place))
                walk(node.children[k], weight, sequence)
            else:
                for prob, child in zip(probs, node.children, strict=True):
                    if prob > 0 or not sampling.prune:
                        walk(child, weight * prob, sequence)

        def follows(infoset: Infoset, k: int, likelihood: float) -> bool:
            return draw(action_place(infoset, k)) < likelihood

        walk(self.root, 1.0, EMPTY)
        return gradient

    @property
    def has_baselines(self) -> bool:
        return bool(getattr(self.sampling, "baseline", ""))

    def estimate_by_values(self, player: int, draw: Draw) -> Gradient:
        """One walk with baselines, as described by Schmid et al. 2019.

        Unlike in `estimate`, the entries are counterfactual values, which include the
        contributions of later infosets. `self.paths` receives the walk: each infoset
        with the index of the drawn action and its probability, and the payoff.
        """
        values: Gradient = {EMPTY: 0.0}
        path: list[tuple[Infoset, int, float]] = []

        def walk(node: Node, reach: float) -> float:
            """The value of a history; `reach` is the player's own sampling
            probability."""
            self.nodes_touched += 1
            if node.returns:
                self.paths[player].append((path, node.returns[player]))
                return node.returns[player]
            infoset, probs = node.infoset, self.distribution(node, player)
            k = choose(probs, draw(node.place))
            if infoset is None:
                return walk(node.children[k], reach)
            path.append((infoset, k, probs[k]))
            is_own = infoset.player == player
            below = walk(node.children[k], reach * probs[k] if is_own else reach)
            found = self.corrected(player, infoset, k, probs[k], below)
            if is_own:
                for own, value in zip(infoset.sequences, found, strict=True):
                    values[own] = value / reach
            return dot(self.policy[infoset.key], found)

        walk(self.root, 1.0)
        return values

    def estimate_branches(self, player: int, draw: Draw) -> Gradient:
        """As `estimate_by_values`, for a walk that follows all actions of `player`.

        `self.paths` receives the tree of the walk: a payoff; or an infoset with its
        subtrees, and for another player's infoset the drawn action and the change of
        its baselines.
        """
        values: Gradient = {EMPTY: 0.0}

        def walk(node: Node) -> tuple[float, Any]:
            """The value of a history, and the tree of the walk."""
            self.nodes_touched += 1
            if node.returns:
                return node.returns[player], node.returns[player]
            infoset, probs = node.infoset, self.distribution(node, player)
            if infoset is None:
                return walk(node.children[choose(probs, draw(node.place))])
            policy = self.policy[infoset.key]
            if infoset.player == player:
                found = [walk(child) for child in node.children]
                for own, (value, _) in zip(infoset.sequences, found, strict=True):
                    values[own] = value
                value = dot(policy, [value for value, _ in found])
                return value, (infoset, [tree for _, tree in found], None, 0.0)
            k = choose(probs, draw(node.place))
            below, tree = walk(node.children[k])
            value = dot(policy, self.corrected(player, infoset, k, probs[k], below))
            return value, (infoset, [tree], k, value - below)

        self.paths[player].append(walk(self.root)[1])
        return values

    def learn_branches(self, player: int, walked: Any) -> None:
        """Updates baselines from one tree of `player`, last branches first."""

        def value_of(tree: Any) -> float:
            if not isinstance(tree, tuple):
                return tree
            infoset, trees, k, change = tree
            if k is None:
                found = [value_of(one) for one in reversed(trees)][::-1]
                return dot(self.policy[infoset.key], found)
            below = value_of(trees[0])
            self.move_baseline(player, infoset, k, below)
            return below + change

        value_of(walked)

    def move_baseline(self, player: int, infoset: Infoset, k: int, below: float):
        """Moves the baseline of an action towards the value sampled below it."""
        entry = player, infoset.sequences[k]
        old = self.baseline.get(entry, 0.0)
        self.baseline[entry] = old + self.sampling.baseline_rate * (below - old)

    def corrected(
        self, player: int, infoset: Infoset, k: int, prob: float, below: float
    ) -> list[float]:
        """The expected value of each action, corrected for the drawn one."""
        found = [self.baseline.get((player, s), 0.0) for s in infoset.sequences]
        found[k] += (below - found[k]) / prob
        return found

    def learn(self, player: int) -> None:
        """Updates the baselines, walk by walk, under the present policies."""
        for walked in self.paths.pop(player):
            if self.sampling.player == "all":
                self.learn_branches(player, walked)
                continue
            path, below = walked
            for infoset, k, prob in reversed(path):
                found = self.corrected(player, infoset, k, prob, below)
                self.move_baseline(player, infoset, k, below)
                below = dot(self.policy[infoset.key], found)

    def follow_probabilities(self, infoset: Infoset) -> list[float]:
        """The probability of following each action in average-strategy sampling.

        See Gibson et al. 2012. S includes the plans of this iteration.
        """
        sampling = self.sampling
        if sampling.player != "average":
            return [1.0] * len(infoset.actions)
        plan, weight = self.plan(infoset.player), self.iteration**self.averaging.gamma
        scale = (
            max(self.iteration - 1, 0) ** self.averaging.gamma
        )  # factor of the earlier sums
        sums = [
            scale * self.sum_of_plans[infoset.player, s] + weight * plan[s]
            for s in infoset.sequences
        ]
        whole = sampling.bonus + sum(sums)
        if whole == 0:
            return [1.0] * len(sums)
        rough = [(sampling.bonus + sampling.threshold * s) / whole for s in sums]
        return [min(1.0, max(sampling.epsilon, rho)) for rho in rough]

    def prunes(self, draw: Draw) -> bool:
        """Whether a walk prunes poor actions, as 95 % do (Brown, Sandholm 2019)."""
        if getattr(self.sampling, "prune_below", None) is None:
            return False
        return draw(PRUNING_PLACE) < 0.95

    def is_poor(self, infoset: Infoset, k: int, node: Node) -> bool:
        """Whether a pruning walk skips action number `k` of a node."""
        return (
            self.policy[infoset.key][k] == 0
            and self.memory[infoset.key][k] < self.sampling.prune_below
            and not node.children[k].returns
        )

    def distribution(self, node: Node, player: int) -> list[float]:
        """The probabilities of the children where a walk for `player` samples one of
        them."""
        if node.infoset is None:
            return node.probs
        policy = self.policy[node.infoset.key]
        if node.infoset.player != player:
            return policy
        if self.sampling.player == "balanced":
            return self.balanced[node.infoset.key]
        epsilon = self.sampling.epsilon
        return [(1 - epsilon) * b + epsilon / len(policy) for b in policy]

    def distributions(self, player: int) -> dict[int, list[float]]:
        """Place -> `distribution`; `.__getitem__` is an argument of
        `enumerate_draws`."""
        found = {}

        def visit(node: Node) -> None:
            if node.children:
                found[int(node.place)] = self.distribution(node, player)
            infoset = node.infoset
            if infoset is not None and infoset.player == player:
                for k, likelihood in enumerate(self.follow_probabilities(infoset)):
                    place = int(action_place(infoset, k))
                    found[place] = [likelihood, 1 - likelihood]
            for child in node.children:
                visit(child)

        visit(self.root)
        return found

    def update(self, player: int, gradient: Gradient) -> None:
        """Applies the local rule, bottom up, at the visited infosets of the player.

        An optimistic rule takes this step from its center, and then plays as if the
        same gradient came again.
        """
        for key in self.infosets:
            if key[0] == player:
                self.memory[key] = discounted(
                    self.memory[key], self.minimizer, self.iteration
                )
        if self.minimizer.rule.startswith("optimistic"):
            self.center, self.memory = self.moved(
                player, gradient, self.center, self.memory
            )
            self.policy, _ = self.moved(
                player,
                gradient,
                self.policy | self.of(player, self.center),
                self.memory,
            )
        else:
            self.policy, self.memory = self.moved(
                player, gradient, self.policy, self.memory
            )

    @staticmethod
    def of(player: int, values: dict) -> dict:
        """The entries of one player."""
        return {key: value for key, value in values.items() if key[0] == player}

    def moved(self, player: int, gradient: Gradient, policy: dict, memory: dict):
        """Policies and memories after a step of the rule from given ones."""
        rule = RULES[self.minimizer.rule]
        policy, memory, values = dict(policy), dict(memory), dict(gradient)
        for key, infoset in reversed(self.infosets.items()):
            if infoset.player != player or infoset.sequences[0] not in gradient:
                continue
            before = memory[key]
            here = [values[sequence] for sequence in infoset.sequences]
            floor = min(getattr(self.minimizer, "tremble", 0.0), 0.5 / len(here))
            rest = 1.0 - len(here) * floor
            free = [(prob - floor) / rest for prob in policy[key]]
            free, memory[key], value = rule(
                free if floor else policy[key],
                memory[key],
                [floor * sum(here) + rest * g for g in here] if floor else here,
                self.minimizer,
                self.beta[key],
                self.iteration,
            )
            policy[key] = [floor + rest * c for c in free] if floor else free
            if not self.has_baselines:  # estimates with baselines include it
                values[infoset.parent] += value
            if getattr(self.sampling, "prune_below", None) is not None:
                self.hold_regrets(infoset, policy, memory, before)
        return policy, memory

    def hold_regrets(self, infoset, policy, memory, before) -> None:
        """Undoes the changes at skipped actions, lifts regrets to the floor, updates
        the policy."""
        floor = self.sampling.prune_below * 31 / 30
        after = memory[infoset.key]
        for k, sequence in enumerate(infoset.sequences):
            is_held = sequence in self.skipped[infoset.player]
            after[k] = before[k] if is_held else max(after[k], floor)
        policy[infoset.key] = normalized([max(regret, 0.0) for regret in after])

    def plan(self, player: int) -> Gradient:
        """The realization plan of `player`'s policy, top down over all infosets."""
        plan: Gradient = {EMPTY: 1.0}
        for key, infoset in self.infosets.items():
            if infoset.player == player:
                for own, b in zip(infoset.sequences, self.policy[key], strict=True):
                    plan[own] = plan[infoset.parent] * b
        return plan

    def add_to_average(self, player: int) -> None:
        """Adds plans with weights t ** gamma; the sum is rescaled, so gamma may
        change."""
        t, averaging = self.iteration, self.averaging
        done = min((t - 1) / averaging.horizon, 1.0) if averaging.horizon else 0.0
        kept = ((t - 1) / t) ** (averaging.gamma + averaging.change * done)
        # With growing batches, an iteration counts once per walk.
        times = self.batch_now if self.batch == "auto" else 1
        for sequence, reach in self.plan(player).items():
            if sequence != EMPTY:
                before = self.sum_of_plans[player, sequence]
                self.sum_of_plans[player, sequence] = kept * before + times * reach

    def average_policy(self) -> Policy:
        """The policy of the average plan; uniform at infosets that the player never
        reached."""
        return self._by_action(
            lambda infoset: normalized(
                [self.sum_of_plans[infoset.player, s] for s in infoset.sequences]
            )
        )

    def current_policy(self) -> Policy:
        """The policy of the next iteration."""
        return self._by_action(lambda infoset: self.policy[infoset.key])

    def play(self, policy: Policy) -> None:
        """Replaces the present policy of all players; memories stay unchanged."""
        for key, infoset in self.infosets.items():
            probs = policy[infoset.info_state]
            self.policy[key] = [probs[action] for action in infoset.actions]

    def _by_action(self, probs: Callable[[Infoset], list[float]]) -> Policy:
        return {
            infoset.info_state: dict(zip(infoset.actions, probs(infoset), strict=True))
            for infoset in self.infosets.values()
        }


def random_policy(game: pyspiel.Game | str, seed: int) -> Policy:
    """Positive probabilities without ties, which rounding in regret matching would
    break."""
    generator = np.random.default_rng(seed)
    _, infosets = read_game(turn_based(game))
    policy = {}
    for infoset in infosets.values():
        probs = normalized(list(generator.uniform(0.1, 1.0, len(infoset.actions))))
        policy[infoset.info_state] = dict(zip(infoset.actions, probs, strict=True))
    return policy


def full_gradient(game: pyspiel.Game | str, policy: Policy, player: int) -> Gradient:
    """The exact gradient at the leaves for every sequence of `player`, from pyspiel.

    Entry s sums chance probability, times the others' probabilities, times the player's
    return, over the terminal histories in which the player's last sequence is s.
    """
    gradient: Gradient = {EMPTY: 0.0}

    def walk(state: pyspiel.State, weight: float, sequence: Sequence) -> None:
        if state.is_terminal():
            gradient[sequence] += weight * state.returns()[player]
        elif state.is_chance_node():
            for outcome, prob in state.chance_outcomes():
                walk(state.child(outcome), weight * prob, sequence)
        else:
            info_state = state.information_state_string()
            for action in state.legal_actions():
                if state.current_player() == player:
                    gradient.setdefault((info_state, action), 0.0)
                    walk(state.child(action), weight, (info_state, action))
                else:
                    b = policy[info_state][action]
                    walk(state.child(action), weight * b, sequence)

    walk(turn_based(game).new_initial_state(), 1.0, EMPTY)
    return gradient


def enumerate_draws(
    run: Callable[[Draw], Result], distribution: Callable[[Any], list[float]]
) -> Iterator[tuple[float, Result]]:
    """Yields (probability, result) of `run(draw)` for every combination of draws.

    `run` must depend on its draws alone and obtain numbers in [0, 1) by `draw(place)`;
    a place keeps its number within a run. `distribution(place)` lists the probabilities
    of the alternatives in the order in which `run` accumulates them. The returned
    number is the middle of the chosen alternative's interval.
    """
    scripts: list[list[int]] = [[]]  # prefixes of choices of the remaining runs

    def follow(script: list[int]) -> tuple[float, Result]:
        drawn: dict[Any, float] = {}
        probability = 1.0

        def draw(place: Any) -> float:
            nonlocal probability
            if place not in drawn:
                probs = distribution(place)
                if len(drawn) == len(script):
                    first, *others = (k for k, prob in enumerate(probs) if prob > 0)
                    scripts.extend([*script, other] for other in others)
                    script.append(first)
                chosen = script[len(drawn)]
                probability *= probs[chosen]
                drawn[place] = sum(probs[:chosen]) + probs[chosen] / 2
            return drawn[place]

        result = run(draw)
        return probability, result

    while scripts:
        yield follow(scripts.pop())
