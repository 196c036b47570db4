"""Gaps of coarse correlated equilibria against a recursion over OpenSpiel's states."""

import copy
import functools
import pickle
from typing import Any

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms

KUHN = "kuhn_poker(players=3)"
SIMULTANEOUS = ms.CFR._replace(alternating=False)
EXACT_GAMES = [
    KUHN,
    "first_sealed_auction(players=2,max_value=4)",
    "sheriff(max_bribe=1,max_items=2,num_rounds=2)",
]


class Oracle:
    """Plain recursion: the leaves of a game, and the weighted sums of gradients."""

    def __init__(self, name: str) -> None:
        self.game = pyspiel.load_game(name)
        self.num_players = self.game.num_players()
        self.sequences: dict[Any, int] = {}
        self.states: dict[Any, pyspiel.State] = {}
        self.parents: dict[Any, int] = {}
        self.paths: list[list[int]] = []
        self.chance: list[float] = []
        self.returns: list[list[float]] = []
        empty = [self._number((player,)) for player in range(self.num_players)]
        self._visit(self.game.new_initial_state(), empty, 1.0)
        self.leaves, self.reach = np.array(self.paths), np.array(self.chance)
        self.payoffs = np.array(self.returns)
        self.own = [
            [self.sequences[(*key, a)] for a in state.legal_actions()]
            for key, state in self.states.items()
        ]
        self.sums = np.zeros(len(self.sequences))
        self.values, self.weight = np.zeros(self.num_players), 0.0

    def _number(self, key: Any) -> int:
        return self.sequences.setdefault(key, len(self.sequences))

    def _visit(self, state: pyspiel.State, path: list[int], reach: float) -> None:
        if state.is_terminal():
            self.paths.append(path)
            self.chance.append(reach)
            self.returns.append(state.returns())
        elif state.is_chance_node():
            for action, prob in state.chance_outcomes():
                self._visit(state.child(action), path, reach * prob)
        else:
            player = state.current_player()
            key = player, state.information_state_string(player)
            self.states.setdefault(key, state.clone())
            self.parents.setdefault(key, path[player])
            for action in state.legal_actions():
                longer = path.copy()
                longer[player] = self._number((*key, action))
                self._visit(state.child(action), longer, reach)

    def plan(self, policy: Any) -> np.ndarray:
        plan = np.ones(len(self.sequences))
        for (key, state), row in zip(self.states.items(), self.own, strict=True):
            probs = policy.action_probabilities(state)
            actions = state.legal_actions()
            plan[row] = [plan[self.parents[key]] * probs[a] for a in actions]
        return plan

    def gradient(self, plan: np.ndarray, player: int) -> np.ndarray:
        others = [p for p in range(self.num_players) if p != player]
        terms = self.reach * self.payoffs[:, player]
        terms = terms * plan[self.leaves[:, others]].prod(axis=1)
        return np.bincount(self.leaves[:, player], terms, len(plan))

    def add(self, plan: np.ndarray, weight: float, after: Any = None) -> None:
        """Adds an iteration; `after` is the plan of players who moved before."""
        mixed = plan.copy()
        for player in range(self.num_players):
            gradient = self.gradient(mixed, player)
            self.sums += weight * gradient
            self.values[player] += weight * (gradient @ plan)
            if after is not None:
                moved = [s for k, s in self.sequences.items() if k[0] == player]
                mixed[moved] = after[moved]
        self.weight += weight

    def gaps(self) -> np.ndarray:
        best = self.sums.copy()
        rows = zip(reversed(self.states), reversed(self.own), strict=True)
        for key, row in rows:
            best[self.parents[key]] += best[row].max()
        return (best[: self.num_players] - self.values) / self.weight


@functools.cache
def expanded(name: str) -> Oracle:
    return Oracle(name)


def oracle(name: str) -> Oracle:
    """An oracle with empty sums."""
    found = copy.copy(expanded(name))
    found.sums, found.values = np.zeros_like(found.sums), np.zeros_like(found.values)
    return found


def played(name: str, algorithm: Any, num: int, weight: Any, **given: Any) -> Any:
    """A tracked solver after some iterations, and the oracles of both numbers."""
    gap, regret = (oracle(name) for _ in range(2))
    solver = ms.Solver(name, algorithm, **given)
    solver.track_cce(external_regret=True)
    plan = gap.plan(solver.current_policy())
    for t in range(1, num + 1):
        solver.iterate(1)
        after = gap.plan(solver.current_policy())
        gap.add(plan, weight(t))
        moved = after if solver.algorithm.alternating else None
        regret.add(plan, weight(t), moved)
        plan = after
    return solver, gap, regret


@pytest.mark.interpreted
@pytest.mark.parametrize("game", EXACT_GAMES)
@pytest.mark.parametrize(
    ("algorithm", "weight"),
    [(ms.CFR, lambda t: 1), (SIMULTANEOUS, lambda t: 1), (ms.CFR_PLUS, lambda t: t)],
)
def test_gaps_equal_those_of_all_stored_policies(game, algorithm, weight):
    solver, gap, regret = played(game, algorithm, 6, weight)
    np.testing.assert_allclose(solver.cce_gaps(), gap.gaps(), atol=1e-12)
    np.testing.assert_allclose(solver.external_regrets(), regret.gaps(), atol=1e-12)


@pytest.mark.parametrize("algorithm", [ms.CFR, SIMULTANEOUS])
def test_gaps_of_three_player_leduc(algorithm):
    game = "leduc_poker(players=3,suit_isomorphism=True)"
    solver, gap, regret = played(game, algorithm, 2, lambda t: 1)
    np.testing.assert_allclose(solver.cce_gaps(), gap.gaps(), atol=1e-10)
    np.testing.assert_allclose(solver.external_regrets(), regret.gaps(), atol=1e-10)


def test_alternating_cfr_on_three_player_kuhn_has_the_known_gaps():
    solver = ms.Solver(KUHN, ms.CFR)
    solver.track_cce(external_regret=True)
    solver.iterate(400)
    gaps = [0.006282, 0.002487, -0.000463]
    np.testing.assert_allclose(solver.cce_gaps(), gaps, atol=1e-6)
    regrets = [0.006282, 0.006238, 0.005474]
    np.testing.assert_allclose(solver.external_regrets(), regrets, atol=1e-6)
    assert ms.metrics.cce_gap(solver) == solver.cce_gaps().max()
    assert ms.metrics.external_regret(solver) == solver.external_regrets().max()


@pytest.mark.parametrize("algorithm", [ms.CFR, SIMULTANEOUS])
@pytest.mark.parametrize("game", EXACT_GAMES)
def test_regrets_fall_and_keep_the_bound_of_zinkevich(game, algorithm):
    solver = ms.Solver(game, algorithm)
    solver.track_cce(external_regret=True)
    infosets, payoffs = solver.tree.infosets, solver.tree.utilities
    largest = []
    for num in (100, 400):
        solver.iterate(num - solver.num_iterations)
        regrets = solver.external_regrets()
        for player, regret in enumerate(regrets):
            own = infosets[infosets["player"] == player]
            most = np.ptp(payoffs[:, player]) * len(own)
            most *= np.sqrt(own["num_actions"].max() / num)
            assert regret <= most
        largest.append((regrets.max(), solver.cce_gaps().max()))
    assert largest[1][0] <= 0.55 * largest[0][0] + 1e-12
    assert largest[1][1] <= 0.55 * max(largest[0]) + 1e-12


SAMPLED = [
    (ms.EXTERNAL_SAMPLING, lambda t: 1),
    (ms.OUTCOME_SAMPLING._replace(averaging=ms.algorithms.LINEAR), lambda t: t),
    (ms.EXTERNAL_SAMPLING._replace(batch=3), lambda t: 1),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("algorithm", "weight"), SAMPLED)
def test_estimates_of_sampling_algorithms_are_close(algorithm, weight):
    gap, solver = oracle(KUHN), ms.Solver(KUHN, algorithm, seed=5)
    solver.track_cce()
    for t in range(1, 256):
        gap.add(gap.plan(solver.current_policy()), weight(t))
        solver.iterate(1)
    estimates, scale = solver.cce_gaps(), gap.gaps().max()
    np.testing.assert_allclose(estimates, gap.gaps(), atol=0.06 * scale)
    assert (estimates != gap.gaps()).any()


@pytest.mark.parametrize("algorithm", [ms.CFR, ms.EXTERNAL_SAMPLING])
def test_pieces_copies_and_files_keep_the_bits(algorithm, tmp_path):
    first, plain = (ms.Solver(KUHN, algorithm, seed=7) for _ in range(2))
    first.track_cce(external_regret=algorithm != ms.EXTERNAL_SAMPLING)
    parts = ms.Solver(KUHN, algorithm, seed=7, threads=2)
    parts.track_cce(external_regret=algorithm != ms.EXTERNAL_SAMPLING)
    first.iterate(300)
    plain.iterate(300)
    assert (
        first.average_policy().to_tabular().action_probability_array
        == plain.average_policy().to_tabular().action_probability_array
    ).all()
    for step in (1, 2, 60, 137):
        parts.iterate(step)
    parts.save(tmp_path / "solver")
    loaded = ms.Solver.load(tmp_path / "solver")
    copies = copy.copy(parts), pickle.loads(pickle.dumps(parts))
    for solver in (loaded, *copies):
        solver.iterate(100)
        assert solver.cce_gaps().tolist() == first.cce_gaps().tolist()
        if algorithm != ms.EXTERNAL_SAMPLING:
            regrets = first.external_regrets().tolist()
            assert solver.external_regrets().tolist() == regrets


@pytest.mark.interpreted
@pytest.mark.parametrize("store", ["tree", "none"])
def test_histories_without_a_tree_give_the_same_gaps(store):
    solver = ms.Solver(KUHN, ms.CFR, store=store)
    solver.track_cce()
    solver.iterate(5)
    other = ms.Solver(KUHN, ms.CFR)
    other.track_cce()
    other.iterate(5)
    np.testing.assert_allclose(solver.cce_gaps(), other.cce_gaps(), atol=1e-12)


def test_runs_and_comparisons_prepare_the_metrics():
    solver = ms.Solver(KUHN, ms.CFR)
    metrics = [ms.metrics.cce_gap, ms.metrics.external_regret]
    rows = solver.run(10, metrics=metrics)
    assert rows[-1]["cce_gap"] == solver.cce_gaps().max()
    assert rows[-1]["external_regret"] == solver.external_regrets().max()
    compared = ms.compare(
        KUHN, [ms.CFR], iterations=10, metrics="cce_gap", workers=1, progress=False
    )
    assert compared["cce_gap"].iloc[-1] == rows[-1]["cce_gap"]


@pytest.mark.both
def test_late_and_impossible_requests_are_refused():
    solver = ms.Solver(KUHN, ms.CFR)
    with pytest.raises(ValueError, match="before the first iteration"):
        solver.cce_gaps()
    solver.track_cce()
    with pytest.raises(ValueError, match="at least one iteration"):
        solver.cce_gaps()
    solver.iterate(3)
    solver.track_cce()
    with pytest.raises(ValueError, match="3 have begun"):
        solver.track_cce(external_regret=True)
    with pytest.raises(ValueError, match="external_regret=True"):
        solver.external_regrets()
    sampling = ms.Solver(KUHN, ms.EXTERNAL_SAMPLING)
    with pytest.raises(ValueError, match="exact gradients"):
        sampling.track_cce(external_regret=True)
    with pytest.raises(ValueError, match='store="tree"'):
        ms.Solver(KUHN, ms.EXTERNAL_SAMPLING, store="none").track_cce()
    forgetful = ms.Solver(
        KUHN, ms.EXTERNAL_SAMPLING, abstraction=lambda state, player: str(player)
    )
    with pytest.raises(ValueError, match="perfect recall"):
        forgetful.track_cce()
    with pytest.raises(ValueError, match="use nash_conv"):
        ms.metrics.cce_gap.prepare(object())
