"""Rules and estimators that users write: the textbook's numbers, the same bits,
refusals in words."""

import copy
import functools
import math
import pickle
from typing import Any

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.evaluation import check_rule
from mccfr_spiel.experiments import Settings
from mccfr_spiel.experiments.algorithm_names import make_method
from mccfr_spiel.experiments.settings import flags_of, named_settings
from mccfr_spiel.kernels.randomness import child_place, stream_key, uniform
from tests import reference
from tests.arenas.tree.test_abstraction import jack_or_queen
from tests.test_solver import ESTIMATORS
from tests.vectors import KUHN_3, follow_textbook


def hedge(policy, memory, gradient, parameters, t):
    """Hedge whose step size falls with the iteration."""
    value = 0.0
    for a in range(len(policy)):
        value += policy[a] * gradient[a]
    total = 0.0
    for a in range(len(policy)):
        memory[a] += gradient[a] - value
    most = memory.max()
    for a in range(len(policy)):
        policy[a] = math.exp(parameters[0] / math.sqrt(t) * (memory[a] - most))
        total += policy[a]
    for a in range(len(policy)):
        policy[a] /= total
    return value


def hedge_with_numpy(policy, memory, gradient, parameters, t):
    value = policy @ gradient
    memory += gradient - value
    weights = np.exp(parameters[0] / np.sqrt(t) * (memory - memory.max()))
    policy[:] = weights / weights.sum()
    return value


def hedge_of_lists(policy, memory, gradient, parameters, t):
    value = sum(b * g for b, g in zip(policy, gradient, strict=True))
    memory = [regret + g - value for regret, g in zip(memory, gradient, strict=True)]
    most = max(memory)
    weights = [math.exp(parameters[0] * t**-0.5 * (regret - most)) for regret in memory]
    return [weight / sum(weights) for weight in weights], memory, value


def textbooks_hedge(policy, memory, gradient, minimizer, beta, t):
    return hedge_of_lists(policy, memory, gradient, minimizer.numbers, t)


HEDGE = algorithms.own_rule(hedge, (0.7,))
PLAIN = algorithms.own_rule(hedge_with_numpy, (0.7,), compiled=False)


@pytest.mark.parametrize("rule", [HEDGE, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("estimator", ["full", "external", "outcome"])
@pytest.mark.parametrize("alternating", [True, False])
def test_an_own_rule_is_the_textbooks(rule, estimator, alternating, monkeypatch):
    monkeypatch.setitem(reference.RULES, "own_rule", textbooks_hedge)
    algorithm = ms.Algorithm(ESTIMATORS[estimator], rule, ms.LINEAR, alternating)
    follow_textbook(KUHN_3, algorithm, 1, 1, 3, 10, seed=3)


def test_a_file_needs_the_function_again(tmp_path):
    path = tmp_path / "solver"
    Solver("kuhn_poker", ms.Algorithm(ms.FULL, HEDGE)).save(path)
    with pytest.raises(CheckpointError, match=r"hedge, and no file holds a function"):
        Solver.load(path)
    with pytest.raises(
        CheckpointError, match=r"hedge, not test_own_rule:hedge_with_numpy"
    ):
        Solver.load(path, minimizer=PLAIN)
    with pytest.raises(CheckpointError, match=r"parameters \[0.7\], not \[0.5\]"):
        Solver.load(path, minimizer=algorithms.own_rule(hedge, (0.5,)))
    Solver("kuhn_poker", ms.CFR).save(path)
    with pytest.raises(CheckpointError, match="regret_matching, which is not a user's"):
        Solver.load(path, minimizer=HEDGE)


def test_what_an_own_rule_cannot_do_is_refused_in_words():
    with pytest.raises(ValueError, match="own_rule is only for players who forget"):
        Solver("kuhn_poker", ms.Algorithm(ms.FULL, HEDGE), abstraction=jack_or_queen)
    with pytest.raises(ValueError, match="takes 2 arguments, not the 5 policy"):
        algorithms.own_rule(lambda policy, memory: 0.0)
    with pytest.raises(ValueError, match="update=3 is not a function"):
        algorithms.own_rule(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="parameters=nan"):
        algorithms.own_rule(hedge, (math.nan,))
    with pytest.raises(ValueError, match=r"Call it; .*yours, give own_rule\(\.\.\.\)"):
        Solver("kuhn_poker", ms.Algorithm(ms.FULL, hedge))  # pyright: ignore
    everywhere = algorithms.own_rule(hedge, (0.7,), everywhere=True)
    with pytest.raises(ValueError, match=r"own_rule moves the policy everywhere"):
        Solver("kuhn_poker", ms.Algorithm(ms.EXTERNAL, everywhere))


def uniform_rule(policy, memory, gradient, parameters, t):
    return policy @ gradient


def reads_a_second_parameter(policy, memory, gradient, parameters, t):
    return parameters[1]


def writes_two_actions(policy, memory, gradient, parameters, t):
    memory[1] += gradient[1]
    return policy @ gradient


@pytest.mark.parametrize(
    ("function", "parameters", "words"),
    [
        (
            hedge,
            (),
            r"hedge uses .* with parameters=\(\): index 0 .*own_rule\(hedge, p",
        ),
        (
            reads_a_second_parameter,
            (0.5,),
            r"of 1 actions and with parameters=\(0\.5,\)",
        ),
        (writes_two_actions, (), "of 1 actions .*index 1 is out of bounds"),
    ],
)
def test_a_rule_that_leaves_its_arrays_is_refused_before_it_runs(
    function, parameters, words
):
    with pytest.raises(ValueError, match=words):
        algorithms.own_rule(function, parameters)
    algorithms.own_rule(function, parameters, compiled=False)  # checks indices itself


def test_a_command_takes_a_rule_with_its_parameters():
    method: Any = make_method({"minimizer": "tests.test_own_rule:HEDGE"})
    assert method.minimizer.numbers == (0.7,)
    with pytest.raises(ValueError, match=r"test_own_rule:hedge uses an index outside"):
        make_method({"minimizer": "tests.test_own_rule:hedge"})


# --- rules that fail ------------------------------------------------------------


def sums_to_a_fifth(policy, memory, gradient, parameters, t):
    if t == 3:
        policy[:] = 0.1
    return policy @ gradient


def has_a_negative(policy, memory, gradient, parameters, t):
    if t == 3:
        policy[0], policy[1] = -1.0, 2.0
    return policy @ gradient


def becomes_nan(policy, memory, gradient, parameters, t):
    if t == 3:
        policy[1] = math.nan
    return policy @ gradient


def returns_infinity(policy, memory, gradient, parameters, t):
    return math.inf if t == 3 else 0.0


FAILING = {
    sums_to_a_fifth: r"left the policy \[0\.1, 0\.1\] at the information state '\d",
    has_a_negative: r"left the policy \[-1\.0, 2\.0\] at the information state '\d",
    becomes_nan: r"left the policy \[0\.5, nan\] at the information state '\d",
    returns_infinity: r"left the policy \[0\.5, 0\.5\] at .*, or returned no finite",
}
LOOPS = {"full": (ms.FULL, 1), "external": (ms.EXTERNAL, 1), "batch": (ms.OUTCOME, 8)}
FAILURES = [
    (function, loop, compiled)
    for function in FAILING
    for loop in LOOPS
    for compiled in (False, True)
    # Each loop is compiled with one of the functions, which takes long.
    if not compiled or function is has_a_negative
]


def fails_for_good(solver, words):
    """A solver whose rule fails in iteration 3, and is of no use from then on."""
    solver.iterate(2)
    before = copy.copy(solver)
    with pytest.raises(ValueError, match=words):
        solver.iterate(100)
    for call in (
        lambda: solver.iterate(1),
        lambda: solver.run(1),
        solver.average_policy,
        solver.current_policy,
        solver.contents,
        lambda: copy.copy(solver),
        lambda: pickle.dumps(solver),
    ):
        with pytest.raises(ValueError, match=r"make it anew, or load a checkpoint"):
            call()
    assert "kuhn" in repr(solver).lower()
    assert before.num_iterations == 2
    before.average_policy()


@pytest.mark.parametrize(("function", "loop", "compiled"), FAILURES)
def test_a_rule_that_writes_no_distribution_is_refused_where_it_does(
    function, loop, compiled
):
    sampling, batch = LOOPS[loop]
    rule = algorithms.own_rule(function, compiled=compiled)
    solver = Solver("kuhn_poker", ms.Algorithm(sampling, rule, batch=batch), seed=4)
    fails_for_good(solver, f"{function.__name__} {FAILING[function]}")


# --- the harness ---------------------------------------------------------------


@pytest.mark.parametrize("rule", [HEDGE, PLAIN], ids=["compiled", "plain"])
def test_a_good_rule_passes_and_its_regret_falls(rule):
    few = check_rule(rule, hedge_of_lists, num_updates=20)
    many = check_rule(rule, hedge_of_lists, num_updates=2000)
    assert max(many.average_regrets) < 0.1 < max(few.average_regrets) * 3
    assert len(many.average_regrets) == 3


def wrong_sum(policy, memory, gradient, parameters, t):
    policy[0] = 0.9
    return 0.0


def wrong_gradient(policy, memory, gradient, parameters, t):
    gradient[:] = 0.0
    return 0.0


def not_for_numba(policy, memory, gradient, parameters, t):
    return float(str(len([None, "a", {}])))


@pytest.mark.parametrize(
    ("function", "textbook", "words"),
    [
        (wrong_sum, None, r"wrong_sum with 1 actions, update 1 leaves the policy"),
        (wrong_gradient, None, "changes the gradient or the parameters"),
        (uniform_rule, hedge_of_lists, r"Update 1: the (policy|memory) is .*textbook"),
        (
            lambda policy, memory, gradient, p, t: math.nan,
            None,
            "returns nan, which is",
        ),
    ],
)
def test_a_wrong_rule_is_told_where(function, textbook, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        check_rule(algorithms.own_rule(function, (0.7,)), textbook)


@pytest.mark.compiled
def test_a_rule_that_numba_cannot_compile_is_refused_before_the_first_walk():
    rule = algorithms.own_rule(not_for_numba)
    words = r"numba cannot compile .*not_for_numba: .*test_own_rule.* compiled=False"
    with pytest.raises(ValueError, match=words):
        check_rule(rule)
    with pytest.raises(ValueError, match=words):
        Solver("kuhn_poker", ms.Algorithm(ms.EXTERNAL, rule))
    nothing: Any = [lambda policy, memory, gradient, p, t: None]
    with pytest.raises(ValueError, match="returns none, which is no number"):
        check_rule(algorithms.own_rule(*nothing))


# --- averages of one's own -----------------------------------------------------------


def like_linear(t):
    return t


@pytest.mark.compiled
@pytest.mark.parametrize("base", [ms.CFR_PLUS, ms.EXTERNAL_SAMPLING])
def test_an_average_of_ones_own_goes_on_wherever_it_stops(base, tmp_path):
    own = base._replace(averaging=ms.algorithms.own_averaging(like_linear))
    expected = Solver("kuhn_poker", base._replace(averaging=ms.LINEAR), seed=1)
    solver = Solver("kuhn_poker", own, seed=1)
    solver.iterate(700)
    solver.iterate(800)  # beyond the weights that are asked for at once
    solver.save(tmp_path / "solver")
    with pytest.raises(CheckpointError, match=r"load\(path, averaging="):
        Solver.load(tmp_path / "solver")
    loaded = Solver.load(tmp_path / "solver", averaging=own.averaging)
    expected.iterate(2000)
    for one in (solver, loaded, copy.copy(solver), pickle.loads(pickle.dumps(solver))):
        one.iterate(500)
        assert one.average_vector().tolist() == expected.average_vector().tolist()


def late(weight):
    return lambda t: weight if t > 3 else 1.0


def test_weights_that_are_none_are_refused():
    for weight in (-1.0, math.nan, "2"):
        own = ms.algorithms.own_averaging(late(weight))  # type: ignore[arg-type]
        solver = Solver("kuhn_poker", ms.CFR._replace(averaging=own))
        with pytest.raises(ValueError, match=r"<lambda>\(4\)=.* is not a number in"):
            solver.iterate(1)
    with pytest.raises(ValueError, match="takes 2 arguments, not the 1 t"):
        ms.algorithms.own_averaging(lambda t, power: t**power)  # type: ignore[arg-type]


# --- estimators of ones own --------------------------------------------------

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


def whole(tree, policy, player, rng):
    """The gradient, node by node."""
    gradient, touched = np.zeros(tree.num_sequences), 0
    todo = [(0, 1.0, player)]
    while todo:
        node, weight, sequence = todo.pop()
        first, start, _, count, acting = tree.nodes[node].tolist()
        touched += 1
        if acting == TERMINAL:
            gradient[sequence] += weight * tree.utilities[start, player]
            continue
        for child in range(count):
            if acting == player:
                todo.append((first + child, weight, start + child))
                continue
            probs = tree.chance_probs if acting == CHANCE else policy
            todo.append((first + child, weight * probs[start + child], sequence))
    return gradient, touched


def sampled(tree, policy, player, rng):
    """Outcome sampling with the generator's draws."""
    return walk(tree, policy, player, lambda place: rng.random())


def walk(tree, policy, player, draw):
    """One history; the place of a draw is the infoset's, or the history's for chance.

    Returns the gradient and the nodes touched.
    """
    gradient, touched = np.zeros(tree.num_sequences), 0
    node, weight, sequence, place = 0, 1.0, player, 0x243F6A8885A308D3
    while True:
        first, start, infoset, count, acting = tree.nodes[node].tolist()
        touched += 1
        if acting == TERMINAL:
            gradient[sequence] = weight * tree.utilities[start, player]
            return gradient, touched
        probs = tree.chance_probs if acting == CHANCE else policy
        probs = probs[start : start + count]
        if acting == player:
            probs = 0.4 * probs + 0.6 / count
        here = place if acting == CHANCE else int(tree.infosets["place"][infoset])
        left, child = draw(int(here)), -1
        while left >= 0 and child < count - 1:
            child += 1
            left -= probs[child]
        if acting == player:
            weight, sequence = weight / probs[child], start + child
        node, place = first + child, child_place(np.uint64(place), child)


def with_our_draws(seed):
    """Outcome sampling of the package's draws, which are those of the seed."""
    calls = []

    def estimate(tree, policy, player, rng):
        number = sum(one == player for one in calls) + 1
        calls.append(player)
        stream = stream_key(np.uint64(seed), number, player, tree.num_players)
        draws = functools.partial(uniform, np.uint64(stream))
        return walk(tree, policy, player, lambda place: draws(np.uint64(place)))

    return estimate


@pytest.mark.parametrize("game", ["kuhn_poker", KUHN_3])
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize(
    "rule",
    # Without draws at the start, what rounding leaves of equal regrets would decide.
    [ms.regret_matching(initial_regret=0.1), ms.algorithms.optimistic_omd(0.3)],
    ids=str,
)
def test_the_whole_gradient_makes_what_passes_make(game, alternating, rule):
    parts = rule, ms.LINEAR, alternating
    mine = Solver(game, ms.Algorithm(ms.own_estimator(whole), *parts))
    ours = Solver(game, ms.Algorithm(ms.FULL, *parts))
    mine.iterate(20)
    ours.iterate(20)
    np.testing.assert_allclose(
        mine.average_vector(), ours.average_vector(), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        mine.current_vector(), ours.current_vector(), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("game", ["kuhn_poker", KUHN_3])
def test_outcome_sampling_with_our_draws_is_ours(game):
    estimator = ms.own_estimator(with_our_draws(5))
    mine = Solver(game, ms.Algorithm(estimator, ms.regret_matching()), seed=5)
    ours = Solver(GameTree(game).expand_all(), ms.OUTCOME_SAMPLING, seed=5)
    mine.iterate(200)
    ours.iterate(200)
    assert mine.nodes_touched == ours.nodes_touched
    np.testing.assert_allclose(
        mine.average_vector(), ours.average_vector(), rtol=0, atol=1e-12
    )


def returning(change):
    def estimate(tree, policy, player, rng):
        return change(np.zeros(tree.num_sequences), player), 3

    return ms.own_estimator(estimate)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g, p: g[:-1], "shape"),
        (lambda g, p: "no array", "not a gradient"),
        (lambda g, p: g + np.where(np.arange(len(g)) == 4, np.nan, 0), r"\[4\] = nan"),
        (lambda g, p: g + (np.arange(len(g)) == 1 - p), "another player's"),
    ],
)
def test_what_is_no_gradient_is_refused_and_changes_nothing(change, words):
    solver = Solver("kuhn_poker", ms.Algorithm(returning(change), ms.ftrl(1.0)))
    before = solver.current_vector()
    for _ in range(2):
        with pytest.raises(ValueError, match=words):
            solver.iterate(1)
    np.testing.assert_array_equal(solver.current_vector(), before)
    assert (solver.num_iterations, solver.nodes_touched) == (0, 0)


def test_files_name_functions_and_refuse_others(monkeypatch):
    settings = Settings("kuhn_poker", ms.Algorithm(ms.own_estimator(whole), ms.omd(1)))
    flags = flags_of(settings)
    assert "test_own_rule:whole" in flags["algorithm"]
    assert named_settings(**flags) == settings
    changed = flags | {"algorithm": flags["algorithm"].replace("source='", "source='0")}
    with pytest.raises(ValueError, match="has changed since"):
        named_settings(**changed)
    with pytest.raises(ValueError, match="is not MODULE:NAME"):
        named_settings(sampling="no_module:f")


def test_parts_that_do_not_go_together_are_refused():
    parts = ms.own_estimator(whole), ms.regret_matching()
    with pytest.raises(ValueError, match="batch=4"):
        Solver("kuhn_poker", ms.Algorithm(*parts, batch=4))
    with pytest.raises(ValueError, match="4 tree, policy, player, rng"):
        ms.own_estimator(lambda tree: None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="drop it or the abstraction"):
        tree = GameTree("kuhn_poker", abstraction=lambda state, player: "")
        Solver(tree, ms.Algorithm(*parts))
