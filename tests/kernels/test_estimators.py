"""Gradient estimators are unbiased, tested exactly by enumeration of all sample paths.

The tests run the Python source of the compiled walk. Scripted draws replace random
draws, so that every path occurs once.
"""

import itertools
import types

import numpy as np
import pytest

from mccfr_spiel import (
    BALANCED_OUTCOME,
    CHANCE,
    EXTERNAL,
    OPPONENT,
    OUTCOME,
    UNIFORM,
    GameTree,
    average_strategy,
    outcome,
    regret_matching,
)
from mccfr_spiel.algorithms import Algorithm, full
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.kernels import (
    apply,
    baselines,
    batches,
    children,
    iterations,
    lazy_average,
    minimizers,
    passes,
    plans,
    sampling,
    selection,
    stack,
    stored,
    tables,
    visits,
    walk,
)
from mccfr_spiel.kernels.tables import PLAYER, WALKER
from mccfr_spiel.solving.solver import Solver
from tests.reference import Textbook, enumerate_draws, full_gradient, random_policy
from tests.small_games import named
from tests.vectors import KUHN_3, LEDUC, gradient_of, vector_of

ESTIMATORS = {
    "chance": CHANCE,
    "opponent": OPPONENT,
    "external": EXTERNAL,
    "outcome": OUTCOME,
    "outcome(0.1)": outcome(0.1),
    "balanced_outcome": BALANCED_OUTCOME,
    "average_strategy": average_strategy(0.1, 1.5, 0.2),
    "pruned": full(prune=True),
}
GOOFSPIEL = (  # simultaneous moves, general sum
    "goofspiel(num_cards=3,imp_info=True,points_order=descending,"
    "returns_type=total_points)"
)
GAMES = "kuhn_poker", KUHN_3, LEDUC, GOOFSPIEL, "uneven_deal", "three_players"


PIECES = (
    *(apply, baselines, batches, iterations, lazy_average, minimizers, passes, plans),
    *(sampling, selection, stack, stored, tables, visits, walk),
)


class WalkDoneError(Exception):
    """Raised in place of the second walk."""


def source_of(kernel):
    """Returns the Python source of a compiled function and of functions in its closure.

    With NUMBA_DISABLE_JIT=1 this is the function itself.
    """
    function = getattr(kernel, "py_func", None)
    if function is None:
        return kernel
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return types.FunctionType(
        function.__code__,
        function.__globals__,
        closure=tuple(types.CellType(source_of(value)) for value in cells),
    )


class SourceOfWalk:
    """One walk of the kernel's Python source for a fixed policy."""

    def __init__(self, game, sampling, policy, player, monkeypatch, rule=None):
        tree, rule = GameTree(game).expand_all(), rule or regret_matching()
        self.solver = Solver(tree, Algorithm(sampling, rule, alternating=False))
        self.solver.state.tables.policy[:] = vector_of(tree, policy)
        slices = self.solver.slices
        slices.kernel = source_of(slices.kernel)
        self.tree, self.player = tree, player
        # An additional player without infosets delays the update.
        nothing = np.zeros((len(tree.utilities), 1))
        utilities = np.append(tree.utilities, nothing, axis=1)
        storage = (*tree.storage[:4], utilities)
        monkeypatch.setattr(GameTree, "storage", storage)
        self.monkeypatch = monkeypatch

    def estimate(self, draw):
        """Returns the gradient of one walk whose draws at places come from `draw`."""
        tables, state = self.solver.state.tables, self.solver.state
        num_walks = 0

        def begin_walk(seed, iteration, player, num_players):
            nonlocal num_walks
            num_walks += 1
            if num_walks == 2:
                raise WalkDoneError
            assert player == self.player
            return np.uint64(0)

        state.walk.cursor[:] = 0
        state.walk.marks[:] = 0
        state.walk.cursor[PLAYER] = self.player
        state.walk.marks[WALKER] = self.player
        for table in (tables.gradient, tables.average, tables.paid):
            table[:] = 0
        tables.is_met[:] = 0
        wraps_around = np.errstate(over="ignore")
        with wraps_around, self.monkeypatch.context() as patch:
            for module in PIECES:
                for name, value in vars(module).items():
                    if hasattr(value, "py_func"):
                        patch.setattr(module, name, source_of(value))
            patch.setattr(iterations, "stream_key", begin_walk)
            for module in (selection, children):
                patch.setattr(module, "uniform", lambda _, place: draw(int(place)))
            with pytest.raises(WalkDoneError):
                self.solver.iterate(1)
        return tables.gradient.copy()


def expectation(game, sampling, policy, player, monkeypatch, rule=None):
    """Returns the expected gradient over all sample paths, and the number of paths."""
    walk = SourceOfWalk(game, sampling, policy, player, monkeypatch, rule)
    textbook = Textbook(game, sampling, regret_matching(), UNIFORM)
    textbook.play(policy)
    distributions = textbook.distributions(player)
    total, num_paths = 0.0, 0
    mean = np.zeros(walk.tree.num_sequences)
    for probability, gradient in enumerate_draws(
        walk.estimate, distributions.__getitem__
    ):
        total += probability
        num_paths += 1
        mean += probability * gradient
    assert total == pytest.approx(1, abs=1e-12)
    return gradient_of(walk.tree, player, mean), num_paths


def with_zeros(policy, seed):
    """Returns the policy after removal of about a third of all actions."""
    generator = np.random.default_rng(seed)
    thinned = {}
    for info_state, probs in policy.items():
        kept = {a: b for a, b in probs.items() if generator.random() > 1 / 3}
        kept = kept or dict(list(probs.items())[:1])
        total = sum(kept.values())
        thinned[info_state] = {a: kept.get(a, 0.0) / total for a in probs}
    return thinned


CASES = [
    *itertools.product(["kuhn_poker", "uneven_deal", "three_players"], ESTIMATORS),
    (KUHN_3, "chance"),
    *itertools.product([KUHN_3, LEDUC], ["outcome"]),
    *itertools.product([GOOFSPIEL], ["external", "balanced_outcome", "pruned"]),
]
"""Pairs with few sample paths. If a walk follows all actions of the player, draws at
many infosets combine: opponent sampling of three-player Kuhn poker has 2^28 paths."""


@pytest.mark.parametrize(("game", "estimator"), CASES)
def test_expectation_over_all_sample_paths_equals_full_gradient(
    game, estimator, monkeypatch
):
    sampling = ESTIMATORS[estimator]
    game = named(game)
    positive = random_policy(game, seed=2)
    for policy in (positive, with_zeros(positive, seed=3)):
        for player in range(GameTree(game).num_players):
            exact = full_gradient(game, policy, player)
            mean, num_paths = expectation(game, sampling, policy, player, monkeypatch)
            assert mean == pytest.approx(exact, abs=1e-12)
            assert num_paths == 1 or sampling.is_sampled


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_expectation_with_trembles_equals_full_gradient(estimator, monkeypatch):
    rule, game = regret_matching(tremble=0.05), "kuhn_poker"
    learned = Textbook(game, full(), rule, UNIFORM)
    learned.run(3)
    policy = learned.current_policy()
    probs = [prob for row in policy.values() for prob in row.values()]
    assert min(probs) == pytest.approx(0.05)  # regret matching alone would play 0
    for player in range(2):
        exact = full_gradient(game, policy, player)
        sampling = ESTIMATORS[estimator]
        mean, _ = expectation(game, sampling, policy, player, monkeypatch, rule)
        assert mean == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("game", [*GAMES, "kuhn_poker(players=4)"])
def test_pass_over_leaves_equals_full_gradient(game):
    game = named(game)
    tree = GameTree(game).expand_all()
    policy = with_zeros(random_policy(game, seed=4), seed=5)
    passes = full_pass(tree)
    plan = passes.plan(vector_of(tree, policy))
    for player in range(tree.num_players):
        gradient = gradient_of(tree, player, passes.gradient(plan, player))
        assert gradient == pytest.approx(full_gradient(game, policy, player), abs=1e-12)
