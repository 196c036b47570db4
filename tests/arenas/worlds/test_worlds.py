"""Worlds give the sizes, values and solver iterations of whole trees."""

import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table, full_pass
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.policy_vectors import policy_vector
from mccfr_spiel.arenas.rules import GameError
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.world_arenas import WorldArena
from mccfr_spiel.arenas.worlds import finding, graph_walk, world_walks
from mccfr_spiel.arenas.worlds.position_graph import PositionGraph
from mccfr_spiel.arenas.worlds.world_walks import GraphWalk
from mccfr_spiel.command_line.main import main
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
)
from mccfr_spiel.policies.vectors import (
    uniform_vector,
)
from tests.experiments.test_run_experiments import read_rows

GAMES = (
    "python_dark_hex(num_rows=2,num_cols=2)",
    "python_dark_hex(num_rows=2,num_cols=2,abrupt=true)",
    "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "dark_hex(num_rows=2,num_cols=2)",
)
LARGER = "python_dark_hex(num_rows=2,num_cols=3)"
LISTED = (
    "liars_dice(dice_sides=3)",
    "liars_dice(dice_sides=3,bidding_rule=reset-quantity)",
    "liars_dice(numdice=2,dice_sides=2)",
    "sheriff(num_rounds=2,max_items=3,max_bribe=1,item_value=0.3)",
    "python_liars_poker(hand_length=2,num_digits=1)",
    "python_liars_poker(hand_length=1,num_digits=2)",
    "battleship(board_width=3,board_height=1,ship_sizes=[1;1],ship_values=[1;2],"
    "num_shots=2,allow_repeated_shots=false,loss_multiplier=2.0)",
    "battleship(board_width=2,board_height=2,ship_sizes=[1;2],ship_values=[1;2],"
    "num_shots=2,allow_repeated_shots=false,loss_multiplier=2.0)",
)
"""Games whose leaves have classes. The last game is slow unless compiled."""


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    return load_game(request.param)


def random_policy(game, kind):
    """A random tabular policy of OpenSpiel."""
    rng = np.random.default_rng(3)
    table = openspiel_policy.TabularPolicy(game)
    legal = table.legal_actions_mask
    weights = {
        "uniform": legal,
        "random": legal * rng.exponential(size=legal.shape),
        "deterministic": np.eye(legal.shape[1])[
            np.argmax(legal * rng.random(legal.shape), axis=1)
        ],
        "sparse": legal * np.where(rng.random(legal.shape) < 0.5, 1.0, 1e-300),
    }[kind]
    table.action_probability_array[:] = weights / weights.sum(axis=1, keepdims=True)
    return table


@pytest.mark.parametrize(
    ("game", "kind"),
    [
        pytest.param(LISTED[-1], "random", marks=pytest.mark.compiled),
        *((game, "random") for game in (*GAMES, *LISTED[:-1])),
        (LISTED[0], "sparse"),
        (LISTED[2], "deterministic"),
        *((game, "sparse") for game in GAMES[:2]),
        (GAMES[1], "uniform"),
        (GAMES[1], "deterministic"),
    ],
    indirect=["game"],
)
def test_values_and_best_responses_equal_openspiel(game, kind):
    policy = random_policy(game, kind)
    tree = GameTree(game).expand_all()
    _, best = full_pass(tree).values(policy_vector(tree, policy))
    if "ship_sizes=[1;2]" in str(game):  # slow in OpenSpiel's Python code
        table = pyspiel.TabularPolicy(policy.to_dict())
        value = pyspiel.expected_returns(game.new_initial_state(), table, -1, False)
        gain = pyspiel.nash_conv(game, table)
    else:
        both: list[openspiel_policy.Policy] = [policy, policy]
        value = expected_game_score.policy_value(game.new_initial_state(), both)
        gain = exploitability.nash_conv(game, policy)
    found = ms.expected_returns(game, policy, store="worlds")
    assert found == pytest.approx(value, abs=1e-12)
    assert ms.nash_conv(game, policy, store="worlds") == pytest.approx(gain, abs=1e-12)
    for player in (0, 1):
        response = ms.evaluation.best_response_policy(
            game, policy, player, store="worlds"
        )
        each: list = [policy, policy]
        each[player] = response
        assert ms.expected_returns(tree, each)[player] == pytest.approx(
            best[player], abs=1e-12
        )


@pytest.mark.parametrize("game", [*GAMES, *LISTED[:-1]], indirect=True)
def test_worlds_have_all_histories_and_infosets(game):
    whole, worlds = GameTree(game).expand_all(), complete_table(game, store="worlds")
    for player in (0, 1):  # includes ends with reach 0
        found, expected = (
            full_pass(tree).gradient(np.ones(tree.num_sequences), player)
            for tree in (worlds, whole)
        )
        assert found.sum() == pytest.approx(expected.sum(), abs=1e-9)
    assert set(worlds.info_states) == set(whole.info_states)
    assert worlds.num_sequences == whole.num_sequences


@pytest.mark.parametrize("game", [*GAMES, *LISTED[1:-1]], indirect=True)
def test_policy_object_is_queried_once_per_infoset(game):
    asked = []

    class Asked(openspiel_policy.UniformRandomPolicy):
        def action_probabilities(self, state, player_id=None):
            asked.append((state.current_player(), state.information_state_string()))
            return super().action_probabilities(state, player_id)

    found = ms.nash_conv(game, Asked(game), store="worlds")
    assert (
        len(asked)
        == len(set(asked))
        == complete_table(game, store="worlds").num_infosets
    )
    tree = GameTree(game).expand_all()
    expected = full_pass(tree).nash_conv(uniform_vector(tree))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("store", ["tree", "worlds"])
@pytest.mark.parametrize("game", GAMES[1:3], indirect=True)
def test_function_policy_gets_batches(game, store):
    """OpenSpiel evaluates the same policy state by state."""

    def logits(tensors, legal):
        weights = np.sin(1.0 + np.arange(legal.shape[1] * tensors.shape[1]))
        values = tensors @ weights.reshape(tensors.shape[1], -1)
        return np.where(legal, np.exp(values), 9.0)

    def function(tensors, legal, strings):
        assert len(strings) == len(tensors) == len(legal)
        found = logits(tensors, legal).astype(np.float32)
        return found / (found * legal).sum(axis=1, keepdims=True)

    class Asked(openspiel_policy.Policy):
        def action_probabilities(self, state, player_id=None):
            tensor = np.array(state.information_state_tensor(), np.float32)
            legal = np.array(state.legal_actions_mask(), bool)
            row = logits(tensor[None], legal[None])[0] * legal
            return {a: row[a] / row.sum() for a in state.legal_actions()}

    policy = Asked(game, [0, 1])
    expected = exploitability.nash_conv(game, policy)
    found = ms.nash_conv(game, function, store=store)
    assert found == pytest.approx(expected, abs=1e-6)
    each = [function, openspiel_policy.UniformRandomPolicy(game)]
    expected = expected_game_score.policy_value(
        game.new_initial_state(), [policy, each[1]]
    )
    found = ms.expected_returns(game, each, store=store)
    assert found == pytest.approx(expected, abs=1e-6)


def test_function_policy_without_tensors(monkeypatch):
    monkeypatch.setattr(WorldArena, "states", None)
    tree = GameTree(GAMES[0]).expand_all()
    found = ms.nash_conv(tree, lambda _, legal, __: legal / legal.sum(1)[:, None])
    expected = full_pass(tree).nash_conv(uniform_vector(tree))
    assert found == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match=r"returned the shape \(5,\)"):
        ms.nash_conv(GAMES[0], lambda _, legal, __: np.ones(5))
    with pytest.raises(ValueError, match="expected a distribution"):
        ms.nash_conv(GAMES[0], lambda _, legal, __: legal / 2)


def test_worlds_are_cached_per_game(game, monkeypatch):
    first = complete_table(game, store="worlds")
    monkeypatch.setattr(finding, "_find_by_positions", None)
    assert complete_table(str(game), store="worlds").worlds is first.worlds


def test_search_is_interruptible_and_reports_progress(monkeypatch):
    monkeypatch.setattr(world_walks, "_WORLDS_PER_SLICE", 1)
    monkeypatch.setattr(finding, "_cache", {})
    follow, shares = graph_walk.follow_worlds, []
    budget = Budget("1GB")
    left = budget.left

    def stopped(frame, rules, most):
        if most == 30:
            raise KeyboardInterrupt
        return follow(frame, rules, most)

    monkeypatch.setattr(graph_walk, "follow_worlds", stopped)
    with pytest.raises(KeyboardInterrupt):
        complete_table(LARGER, budget, store="worlds")
    assert budget.left == left
    monkeypatch.setattr(graph_walk, "follow_worlds", follow)
    share = GraphWalk.share
    monkeypatch.setattr(
        GraphWalk, "share", lambda walk: shares.append(share(walk)) or shares[-1]
    )
    assert complete_table(LARGER, budget, store="worlds").num_infosets > 0
    shares = shares[: len(shares) // 2]  # the second half lists the worlds
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.1
    assert 0.9 < shares[-1] < 1


@pytest.fixture(params=GAMES[:3])
def again(request, monkeypatch):
    """A game whose passes rebuild the worlds, as if lists exceeded the memory limit."""
    monkeypatch.setattr(finding, "_LISTED_SHARE", 0.0)
    monkeypatch.setattr(finding, "_cache", {})
    return load_game(request.param)


ABRUPT = "python_dark_hex(num_rows=2,num_cols=3,abrupt=true)"


@pytest.mark.parametrize(
    ("again", "kind"),
    [
        *itertools.product(GAMES[:3], ("random", "sparse")),
        pytest.param(ABRUPT, "sparse", marks=pytest.mark.compiled),
    ],
    indirect=["again"],
)
def test_rebuilt_worlds_have_gradients_of_trees(again, kind):
    tree, whole = complete_table(again, store="worlds"), GameTree(again).expand_all()
    assert isinstance(tree.worlds, PositionGraph)
    policy = random_policy(again, kind)
    passes = [full_pass(tree), full_pass(whole)]
    vectors = [policy_vector(one.table, policy) for one in passes]
    found, expected = (
        one.values(vector) for one, vector in zip(passes, vectors, strict=True)
    )
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-12)
    if "num_cols=3" not in str(again):  # slow in OpenSpiel
        gain = exploitability.nash_conv(again, policy)
        assert ms.nash_conv(tree, policy) == pytest.approx(gain, abs=1e-12)
    for player in (0, 1):
        found, expected = (
            by_name(one.table, one.gradient(one.plan(vector), player))
            for one, vector in zip(passes, vectors, strict=True)
        )
        assert found.keys() == expected.keys()
        for name, row in found.items():
            assert row == pytest.approx(expected[name], abs=1e-12), name


def by_name(tree, vector):
    """The rows of a vector per information-state string."""
    rows = zip(tree.info_states, tree.infosets.tolist(), strict=True)
    return {name: vector[start : start + n] for name, (_, start, _, n, _) in rows}


@pytest.mark.parametrize("algorithm", [ms.CFR_PLUS, ms.PCFR_PLUS], ids=str)
def test_solvers_agree_on_rebuilt_and_listed_worlds(
    again, algorithm, monkeypatch, tmp_path
):
    one = broken_ties(again, algorithm, "worlds")
    assert isinstance(one.tree.worlds, PositionGraph)
    monkeypatch.setattr(finding, "_LISTED_SHARE", 0.5)
    monkeypatch.setattr(finding, "_cache", {})
    other = broken_ties(again, algorithm, "worlds")
    for solver in (one, other):
        solver.iterate(4)
    one.save(tmp_path / "solver")
    assert one.average_vector() == pytest.approx(other.average_vector(), abs=1e-9)
    one.iterate(3)
    monkeypatch.setattr(finding, "_LISTED_SHARE", 0.0)
    monkeypatch.setattr(finding, "_cache", {})
    resumed = ms.Solver.load(tmp_path / "solver")
    resumed.iterate(3)
    assert (resumed.average_vector() == one.average_vector()).all()


ALGORITHMS = (
    ms.CFR,
    ms.CFR_PLUS,
    ms.DCFR,
    ms.PCFR_PLUS,
    ms.PDCFR_PLUS,
    ms.CFR._replace(alternating=False),
    ms.CFR._replace(minimizer=ms.algorithms.ftrl(0.5)),
    ms.CFR._replace(minimizer=ms.algorithms.optimistic_omd(0.5), alternating=False),
)


def broken_ties(game, algorithm, store):
    """A solver whose regrets start at random values, equal for equal strings.

    Rounding would break ties of equal regrets, and it depends on the order of sums.
    """
    solver = ms.Solver(game, algorithm, store=store)
    if solver.keeps_regrets:
        state, tree = solver.state, solver.tree
        for name, (_, start, _, count, _) in zip(
            tree.info_states, tree.infosets.tolist(), strict=True
        ):
            rng = np.random.default_rng(list(name.encode()))
            row = slice(start, start + count)
            state.tables.memory[row] = rng.exponential(size=count)
            total = state.tables.memory[row].sum()
            state.tables.policy[row] = state.tables.memory[row] / total
        plan = full_pass(tree).plan(state.tables.policy[: tree.num_sequences])
        state.tables.plan[:] = plan
    return solver


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("game", [*GAMES[:2], LISTED[2]], indirect=True)
def test_solvers_agree_on_worlds_and_trees(game, algorithm):
    on_worlds, on_tree = (
        broken_ties(game, algorithm, store) for store in ("worlds", "tree")
    )
    for solver in (on_worlds, on_tree):
        solver.iterate(7)
    assert (on_worlds.store, on_tree.store) == ("worlds", "tree")
    for policy in ("current_policy", "average_policy"):
        found, expected = (
            getattr(solver, policy)().to_dict() for solver in (on_worlds, on_tree)
        )
        assert found.keys() == expected.keys()
        for name, row in found.items():
            assert row == pytest.approx(expected[name], abs=1e-9), name


@pytest.mark.both
@pytest.mark.parametrize("game", [GAMES[0]], indirect=True)
def test_two_threads_give_identical_bits(game):
    algorithm = ms.PCFR_PLUS._replace(alternating=False)
    one, two = (
        ms.Solver(game, algorithm, store="worlds", threads=threads)
        for threads in (1, 2)
    )
    assert (one.state.engine.num_threads, two.state.engine.num_threads) == (1, 2)
    for solver in (one, two):
        solver.iterate(9)
    average = one.average_vector()
    assert (two.average_vector() == average).all()
    found = [ms.nash_conv(one.tree, average, threads=threads) for threads in (1, 2)]
    assert found[0] == found[1]
    assert found[0] > 0


def test_auto_selects_worlds_for_large_trees():
    game = load_game(GAMES[0])
    assert ms.Solver(game, ms.CFR_PLUS).store == "tree"
    assert ms.Solver(game, ms.CFR_PLUS, max_nodes=100).store == "worlds"
    with pytest.raises(ms.TreeFullError):
        ms.Solver(game, ms.CFR_PLUS, max_nodes=100, store="tree")


def test_unsuitable_games_and_options_are_refused():
    with pytest.raises(ValueError, match="declares no worlds"):
        ms.Solver("python_leduc_ranks", ms.CFR, store="worlds")
    with pytest.raises(ValueError, match="declares no worlds"):
        ms.nash_conv("python_leduc_ranks", {}, store="worlds")
    with pytest.raises(ValueError, match="store='world' is not one of"):
        ms.nash_conv(GAMES[0], {}, store="world")
    with pytest.raises(ValueError, match="sample and prune nothing"):
        ms.Solver(GAMES[0], ms.EXTERNAL_SAMPLING, store="worlds")
    with pytest.raises(ValueError, match="keeps no nodes"):
        ms.Solver(complete_table(GAMES[0], store="worlds"), ms.CFR, store="tree")
    with pytest.raises(MemoryBudgetError, match="max_memory"):
        complete_table("python_dark_hex", "8MB", store="worlds")
    with pytest.raises(GameError, match=r"state 'x.*' of dark_hex\(.*abstraction="):
        complete_table("dark_hex(board_size=3)", store="worlds")


# --- dark hex -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (3, 3), (4, 3)])
@pytest.mark.parametrize("abrupt", [False, True])
def test_dark_hex_equals_openspiel(size, abrupt):
    board = f"num_rows={size[0]},num_cols={size[1]}"
    version = "adh" if abrupt else "cdh"
    ours = load_game(f"python_dark_hex({board},abrupt={str(abrupt).lower()})")
    theirs = load_game(f"dark_hex({board},gameversion={version})")
    rng = np.random.default_rng(0)
    for _ in range(100):
        one, other = ours.new_initial_state(), theirs.new_initial_state()
        while not other.is_terminal():
            assert one.current_player() == other.current_player()
            assert one.legal_actions() == other.legal_actions()
            action = rng.choice(other.legal_actions())
            one.apply_action(action)
            other.apply_action(action)
        assert one.is_terminal()
        assert one.returns() == other.returns()


def test_dark_hex_strings_contain_own_moves_and_answers():
    state = load_game("python_dark_hex").new_initial_state()
    for action in (4, 4, 2):
        state.apply_action(action)
    assert state.information_state_string(0) == "p0 4"
    assert state.information_state_string(1) == "p1 4! 2"
    assert str(state) == "..o\n.x.\n..."


# --- runs of the command line ------------------------------------------------


@pytest.mark.parametrize("store", ["worlds", "none"])
def test_resumed_run_equals_uninterrupted_run(store, tmp_path):
    words = "solve", GAMES[0], "--algorithm=cfr_plus", f"--store={store}", "--resume"
    whole, parts, tree = tmp_path / "whole", tmp_path / "parts", tmp_path / "tree"
    assert main([*words, "--iterations=6", f"--output_dir={whole}"]) == 0
    for iterations in (3, 6):
        part = f"--iterations={iterations}", f"--output_dir={parts}"
        assert main([*words, *part]) == 0
    words = "solve", GAMES[0], "--algorithm=cfr_plus", "--store=tree", "--iterations=6"
    assert main([*words, f"--output_dir={tree}"]) == 0
    found = [
        {row["iteration"]: float(row["nash_conv"]) for row in read_rows(folder)}
        for folder in (whole, parts, tree)
    ]
    assert found[1] == found[0]
    assert found[0]["2"] == pytest.approx(found[2]["2"], abs=1e-12)
    assert len(found[0]) > 3


def test_sampling_run_is_evaluated_by_worlds(tmp_path):
    words = "solve", GAMES[0], "--algorithm=external_sampling", "--max_nodes=50"
    assert main([*words, "--iterations=20", f"--output_dir={tmp_path}"]) == 0
    assert all(float(row["nash_conv"]) > 0 for row in read_rows(tmp_path))
