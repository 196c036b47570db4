"""Estimators that users write: the whole gradient is CFR, with our draws ours."""

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.compiled.randomness import (
    plain_child_place,
    plain_stream_key,
    plain_uniform,
)
from mccfr_spiel.experiments import Settings
from mccfr_spiel.experiments.settings import flags_of, named_settings
from tests.vectors import KUHN_3

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
        left, child = draw(here), -1
        while left >= 0 and child < count - 1:
            child += 1
            left -= probs[child]
        if acting == player:
            weight, sequence = weight / probs[child], start + child
        node, place = first + child, plain_child_place(place, child)


def with_our_draws(seed):
    """Outcome sampling of the package's draws, which are those of the seed."""
    calls = []

    def estimate(tree, policy, player, rng):
        number = sum(one == player for one in calls) + 1
        calls.append(player)
        stream = plain_stream_key(seed, number, player, tree.num_players)
        return walk(tree, policy, player, lambda place: plain_uniform(stream, place))

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
    assert "test_own_estimator:whole" in flags["algorithm"]
    assert named_settings(**flags) == settings
    changed = flags | {"algorithm": flags["algorithm"].replace("source='", "source='0")}
    with pytest.raises(ValueError, match="has changed since"):
        named_settings(**changed)
    with pytest.raises(ValueError, match="is not MODULE:NAME"):
        named_settings(sampling="no_module:f")


@pytest.mark.parametrize(
    ("more", "words"),
    [({"batch": 4}, "batch=4")],
)
def test_parts_that_do_not_go_together_are_refused(more, words):
    parts = {"sampling": ms.own_estimator(whole), "minimizer": ms.regret_matching()}
    with pytest.raises(ValueError, match=words):
        Solver("kuhn_poker", ms.Algorithm(**parts | more))
    with pytest.raises(ValueError, match="4 tree, policy, player, rng"):
        ms.own_estimator(lambda tree: None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="drop it or the abstraction"):
        tree = GameTree("kuhn_poker", abstraction=lambda state, player: "")
        Solver(tree, ms.Algorithm(**parts))
