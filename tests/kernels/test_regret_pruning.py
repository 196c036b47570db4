"""Regret-based pruning of whole passes."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.algorithms import full, predictive_regret_matching_plus
from tests.pruned_reference import PrunedTextbook
from tests.vectors import GOOFSPIEL, LEDUC, follow_textbook

START = ms.regret_matching(initial_regret=0.1)  # no ties
PRUNED = ms.Algorithm(full(prune="regret"), ms.regret_matching())
LIARS = "liars_dice(dice_sides=3)"


@pytest.mark.parametrize(
    ("game", "iterations", "alternating"),
    [("kuhn_poker", 60, True), (LIARS, 50, False), (GOOFSPIEL, 20, True)],
)
def test_the_solver_is_the_textbook(game, iterations, alternating):
    algorithm = ms.Algorithm(full(prune="regret"), START, ms.LINEAR, alternating)
    pieces = 1, 1, iterations - 2
    _, textbook = follow_textbook(game, algorithm, *pieces, kind=PrunedTextbook)
    if game == LIARS:
        assert textbook.seen == {"followed", "skipped", "resumed"}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "iterations", "share", "most"),
    [("liars_dice(dice_sides=4)", 2_000, 0.4, 0.003), (LEDUC, 2_000, 0.9, 0.03)],
)
def test_it_comes_as_close_as_cfr_and_touches_fewer_nodes(
    game, iterations, share, most
):
    tree = GameTree(game).expand_all()
    touched, nash_conv = [], []
    for algorithm in (ms.PRUNED_CFR, PRUNED):
        solver = Solver(tree, algorithm)
        solver.iterate(iterations)
        touched.append(solver.nodes_touched)
        nash_conv.append(ms.nash_conv(tree, solver.average_policy()))
    assert touched[1] < share * touched[0]
    assert nash_conv[1] < most
    assert nash_conv[1] < 1.5 * nash_conv[0]


def test_what_cannot_work_is_refused_in_words():
    for make, words in (
        (lambda: full(prune="regrets"), "prune='regrets' is not True or False, nor \""),
        (lambda: ms.EXTERNAL._replace(prune="regret"), "sample nothing"),
        (lambda: ms.OUTCOME._replace(prune="regret"), "sample nothing"),
        (lambda: full(prune="regret")._replace(prune_below=-1.0), "only external"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    for rule in (
        ms.regret_matching_plus(),
        ms.discounted_regret_matching(),
        predictive_regret_matching_plus(),
        ms.ftrl(1.0),
    ):
        words = r'prune="regret" is given, but|moves the policy everywhere'
        with pytest.raises(ValueError, match=words):
            Solver("kuhn_poker", PRUNED._replace(minimizer=rule))
    with pytest.raises(ValueError, match="batch=2"):
        Solver("kuhn_poker", PRUNED._replace(batch=2))
    with pytest.raises(ValueError, match=r"has 3 players; use ms\.PRUNED_CFR"):
        Solver("kuhn_poker(players=3)", PRUNED)

    def told(state, player):
        return state.information_state_string(player)

    with pytest.raises(ValueError, match='prune="regret" goes by the regrets'):
        Solver("kuhn_poker", PRUNED, abstraction=told)
