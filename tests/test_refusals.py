"""Every public function, called with what it cannot use.

Each call must be refused with a ValueError (or a subclass, or a TypeError) whose
message shows the value, so that the reader knows which of a call's arguments is wrong.
"""

import math
import pathlib
from typing import Any

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms

KUHN = pyspiel.load_game("kuhn_poker")
LEDUC = pyspiel.load_game("leduc_poker")
GENERAL = pyspiel.load_game("matrix_pd")
NAN, INF, HUGE = math.nan, math.inf, 10**400

TREE = ms.GameTree(KUHN).expand_all()
UNIFORM = ms.Solver(TREE, ms.CFR).average_policy()
THEORY = ms.theory.player_theory(TREE)
OWN = ms.own_rule(lambda policy, memory, gradient, parameters, t: 0.0)

ODD_GAMES = [None, 3, "no_such_game", "", "kuhn_poker(players=99)", KUHN.get_type()]
ODD_PLAYERS = [-1, 2, 10**9, 0.5, "0", None, NAN]
ODD_COUNTS = [-1, 1.5, NAN, INF, "3", None, [3]]
ODD_SEEDS = ["x", None, 1.5, NAN, INF, [1]]
ODD_RATES = [-0.1, 1.5, NAN, INF, "0.5", None, HUGE]
ODD_SIZES = [0, -1, NAN, INF, "1", None, 1e300]
ODD_POLICIES: list[Any] = [
    None,
    "uniform",
    3,
    {},
    {"0": {0: 0.5, 1: 0.5}},
    {"0": np.full(2, 0.5)},
    np.ones(3),
    np.full(TREE.num_sequences, NAN),
    np.full(TREE.num_sequences, 0.4),
    ms.Solver(LEDUC, ms.CFR).average_policy(),
]
BATCH = ms.EXTERNAL_SAMPLING._replace(batch=4)
STATE = KUHN.new_initial_state()
STATE.apply_action(0)
STATE.apply_action(1)


def solver(**arguments: Any) -> ms.Solver:
    return ms.Solver(TREE, ms.EXTERNAL_SAMPLING, **arguments)


def bot(**arguments: Any) -> ms.OnlineOutcomeSamplingBot:
    return ms.OnlineOutcomeSamplingBot(KUHN, **({"player_id": 0} | arguments))


CALLS = {
    "GameTree": (ms.GameTree, ODD_GAMES),
    "histories": (lambda n: ms.check_game(KUHN, histories=n), [0, *ODD_COUNTS]),
    "check_game seed": (lambda n: ms.check_game(KUHN, seed=n), ODD_SEEDS),
    "locked": (lambda x: ms.Solver(TREE, ms.CFR, locked=x), [3, "0", [[0.5, 0.5]]]),
    "nash_conv": (lambda g: ms.nash_conv(g, UNIFORM), [*ODD_GAMES, LEDUC]),
    "solve_lp": (ms.solve_lp, [*ODD_GAMES, GENERAL]),
    "m_values": (ms.theory.m_values, ODD_GAMES),
    "nash_conv_bound": (
        lambda g: ms.theory.nash_conv_bound(g, ms.CFR),
        [*ODD_GAMES, GENERAL],
    ),
    "bot's game": (lambda g: ms.OnlineOutcomeSamplingBot(g, 0), ODD_GAMES),
    "sampled_returns": (
        lambda g: ms.sampled_returns(g, UNIFORM, plays=2),
        [*ODD_GAMES, LEDUC],
    ),
    "ExcessiveGap": (ms.offline.ExcessiveGap, [*ODD_GAMES, GENERAL]),
    "alternating": (
        lambda a: ms.Solver(TREE, ms.CFR._replace(alternating=a)),
        [2, "x"],
    ),
    "row of a lock": (lambda x: ms.Solver(TREE, ms.CFR, locked={"0": x}), ["x", None]),
    "row of a policy": (
        lambda x: ms.nash_conv(TREE, UNIFORM.to_dict() | {"0": x}),
        [None, "x", [0.5, 0.5], {0: "x"}],
    ),
    "answer of a function": (lambda x: ms.nash_conv(TREE, lambda *_: x), ["x"]),
    "callback": (lambda x: solver().run(1, callback=x), [True, "x"]),
    "first order iterate_until": (
        ms.offline.MirrorProx(KUHN).iterate_until,
        [NAN, None, "x"],
    ),
    "step size of mirror prox": (
        lambda x: ms.offline.MirrorProx(KUHN, step_size=x),
        ["x", 0],
    ),
    "cluster": (lambda x: ms.Solver(KUHN, BATCH, cluster=x), [4, "x"]),
    "CFRBRSolver": (ms.CFRBRSolver, ODD_GAMES),
    "CFRSolver": (ms.CFRSolver, ODD_GAMES),
    "OutcomeSamplingMCCFRSolver": (ms.OutcomeSamplingMCCFRSolver, ODD_GAMES),
    "nash_conv of": (lambda p: ms.nash_conv(TREE, p), ODD_POLICIES),
    "sampled_returns of": (
        lambda p: ms.sampled_returns(KUHN, p, plays=2),
        [None, "uniform", 3, {}, np.ones(3), [], [UNIFORM], [None, None]],
    ),
    "best response": (
        lambda i: ms.evaluation.best_response_policy(TREE, UNIFORM, i),
        ODD_PLAYERS,
    ),
    "bot's seat": (lambda i: bot(player_id=i), ODD_PLAYERS),
    "policy of": (
        lambda i: UNIFORM.action_probabilities(STATE, i),
        [i for i in ODD_PLAYERS if i is not None],
    ),
    "string of": (lambda i: TREE.string_of(STATE, i), ODD_PLAYERS),
    "iterate": (lambda n: solver().iterate(n), ODD_COUNTS),
    "iterate_until": (
        lambda n: solver().iterate_until(n),
        [NAN, INF, -INF, "3", None, [3]],
    ),
    "plays": (lambda n: ms.sampled_returns(KUHN, UNIFORM, plays=n), [*ODD_COUNTS, 1]),
    "seconds of learning": (
        lambda s: ms.learned_response(KUHN, UNIFORM, 0, seconds=s, plays=2),
        [-1, NAN, INF, "3", None, [3]],
    ),
    "max_nodes of GameTree": (lambda n: ms.GameTree(KUHN, max_nodes=n), ODD_SIZES),
    "first order iterate": (
        lambda n: ms.offline.MirrorProx(KUHN).iterate(n),
        ODD_COUNTS,
    ),
    "seed": (lambda s: solver(seed=s), ODD_SEEDS),
    "bot's seed": (lambda s: bot(seed=s), ODD_SEEDS),
    "seed of plays": (
        lambda s: ms.sampled_returns(KUHN, UNIFORM, plays=2, seed=s),
        ODD_SEEDS,
    ),
    "drop-in's seed": (
        lambda s: ms.ExternalSamplingSolver(KUHN, seed=s),
        [s for s in ODD_SEEDS if s is not None],
    ),
    "outcome": (ms.outcome, [*ODD_RATES, 0]),
    "bot's epsilon": (lambda e: bot(epsilon=e), [*ODD_RATES, 0]),
    "confidence": (
        lambda c: ms.sampled_returns(KUHN, UNIFORM, plays=2, confidence=c),
        [*ODD_RATES, 0, 1],
    ),
    "p of a bound": (
        lambda p: ms.theory.nash_conv_bound(TREE, ms.CFR, p),
        [*ODD_RATES, 0],
    ),
    "T of a bound": (
        lambda t: ms.theory.cfr_regret_bound(THEORY[0], t),
        [0, -1, NAN, None],
    ),
    "delta": (
        lambda d: ms.theory.outcome_sampling_regret_bound(THEORY[0], 10, 0.5, d),
        [d for d in ODD_RATES if d is not None],
    ),
    "players of gap_bound": (
        lambda q: ms.theory.gap_bound(q, 10, 0.5, (1, 1), "external"),
        [(), THEORY[:1], None, 3],
    ),
    "algorithm": (
        lambda a: ms.Solver(TREE, a),
        ["foo", None, 3, ms.FULL, ms.regret_matching(), (ms.FULL, ms.ftrl(1.0))],
    ),
    "sampling": (
        lambda s: ms.Solver(TREE, ms.Algorithm(s, ms.regret_matching())),
        [None, "outcome", ms.regret_matching()],
    ),
    "chance of a sampling": (
        lambda c: ms.algorithms.Sampling(chance=c, opponents=True),
        ["yes", None, 1],
    ),
    "player of a sampling": (
        lambda p: ms.algorithms.Sampling(chance=True, opponents=True, player=p),
        ["other", None, 3],
    ),
    "epsilon of a sampling": (
        lambda e: ms.OUTCOME._replace(epsilon=e),
        [0.0, -1.0, NAN, 1.5, "1", None],
    ),
    "minimizer": (
        lambda m: ms.Solver(TREE, ms.Algorithm(ms.EXTERNAL, m)),
        [None, "ftrl", ms.EXTERNAL],
    ),
    "check_rule": (ms.evaluation.check_rule, [None, 3, "x", math.exp, ms.ftrl(1.0)]),
    "check_rule updates": (
        lambda n: ms.evaluation.check_rule(OWN, num_updates=n),
        ODD_SIZES[:-1],
    ),
    "own_rule's numbers": (
        lambda n: ms.own_rule(OWN.update, n),
        [0.5, None, "0.5", "x", ["x"]],
    ),
    "step size of a changed rule": (
        lambda step: ms.ftrl(1.0)._replace(step_size=step),
        [NAN, -1.0, 1e308],
    ),
    "averaging": (
        lambda a: ms.Solver(TREE, ms.Algorithm(ms.EXTERNAL, ms.regret_matching(), a)),
        [None, 1.0, "linear"],
    ),
    "horizon": (ms.hs_dcfr, [0, NAN, "1", HUGE]),
    "polynomial": (ms.polynomial, [-1, NAN, INF, 200, "1", None, HUGE]),
    "ftrl": (ms.ftrl, [0, -1, NAN, INF, 1e308, 1e-320, "1", None, HUGE]),
    "prediction": (ms.predictive_regret_matching_plus, [-1, NAN, "1", None, HUGE]),
    "temperature": (lambda t: ms.mmd(1.0, t), [-1, NAN, INF, "1", None, HUGE]),
    "ftrl's weights": (lambda w: ms.ftrl(1.0, weights=w), ["other", None, 3]),
    "initial_regret": (
        lambda r: ms.regret_matching(initial_regret=r),
        [-1, NAN, INF, 1e308, "1", None, HUGE],
    ),
    "average type": (lambda t: ms.ExternalSamplingSolver(KUHN, t), [None, 0, "simple"]),
    "payoff": (
        lambda u: bot().observe_outcome(u),
        [NAN, INF, -INF, "1", None, [1.0], 1e308, HUGE],
    ),
    "state": (
        UNIFORM.action_probabilities,
        [None, "0", LEDUC.new_initial_state().child(0).child(1)],
    ),
    "tree of a policy": (lambda t: ms.SequencePolicy(t, UNIFORM.vector), ODD_GAMES),
    "vector": (
        lambda v: ms.SequencePolicy(TREE, v),
        [np.ones(3), None, "uniform", np.ones((TREE.num_sequences, 2))],
    ),
    "path of a policy": (ms.SequencePolicy.load, [pathlib.Path(__file__), b"x", None]),
    "path of a checkpoint": (ms.Solver.load, [pathlib.Path(__file__), b"x", None]),
    "abstraction": (
        lambda a: ms.Solver(KUHN, abstraction=a).iterate(1),
        ["string", 3, lambda state, player: 3, lambda state: "x"],
    ),
    "time limit": (lambda t: ms.solve_lp(KUHN, time_limit=t), [NAN, -1, "1"]),
    "method of solve_lp": (lambda m: ms.solve_lp(KUHN, method=m), ["other", 3]),
}

CASES = [
    pytest.param(call, value, id=f"{name}-{number}")
    for name, (call, values) in CALLS.items()
    for number, value in enumerate(values)
]


@pytest.mark.parametrize(("call", "value"), CASES)
def test_it_is_refused_in_words_that_show_the_value(call, value):
    with pytest.raises((ValueError, TypeError)) as refusal:
        call(value)
    message = str(refusal.value)
    if isinstance(value, int | float | str | None):
        assert str(value) in message or repr(value) in message, message
    assert len(message.split()) >= 5, message
