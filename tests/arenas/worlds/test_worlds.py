"""Games taken world by world have the sizes, values and solvers of their trees."""

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
from mccfr_spiel.arenas.rules import BoundRules, GameError, compiled, rules_of
from mccfr_spiel.arenas.rules.twins import hidden_board, twin_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.world_arenas import WorldArena
from mccfr_spiel.arenas.worlds import finding, places
from mccfr_spiel.arenas.worlds.finding import PlaceWalk, check_independence, find_worlds
from mccfr_spiel.arenas.worlds.passes import Leaves
from mccfr_spiel.arenas.worlds.places import Places
from mccfr_spiel.command_line.main import main
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.evaluation.metrics import uniform_vector
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
"""Games whose leaves are listed, with classes; the last takes long without the JIT."""


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    return load_game(request.param)


def random_policy(game, kind):
    """OpenSpiel's table of all states, filled at random."""
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
def test_values_and_best_responses_are_openspiels(game, kind):
    policy = random_policy(game, kind)
    tree = GameTree(game).expand_all()
    _, best = full_pass(tree).values(policy_vector(tree, policy))
    if "ship_sizes=[1;2]" in str(game):  # which takes OpenSpiel's Python long
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
    for player in (0, 1):  # what all ends of the game pay, those of no plan too
        found, expected = (
            full_pass(tree).gradient(np.ones(tree.num_sequences), player)
            for tree in (worlds, whole)
        )
        assert found.sum() == pytest.approx(expected.sum(), abs=1e-9)
    assert set(worlds.info_states) == set(whole.info_states)
    assert worlds.num_sequences == whole.num_sequences


@pytest.mark.parametrize("game", [*GAMES, *LISTED[1:-1]], indirect=True)
def test_a_policy_without_a_table_is_asked_once_for_each_infoset(game):
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
def test_a_function_is_asked_for_many_infosets_at_once(game, store):
    """It is the same policy that OpenSpiel asks state by state."""

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


def test_a_function_need_not_have_tensors_made(monkeypatch):
    monkeypatch.setattr(WorldArena, "states", None)
    tree = GameTree(GAMES[0]).expand_all()
    found = ms.nash_conv(tree, lambda _, legal, __: legal / legal.sum(1)[:, None])
    expected = full_pass(tree).nash_conv(uniform_vector(tree))
    assert found == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match=r"returned the shape \(5,\)"):
        ms.nash_conv(GAMES[0], lambda _, legal, __: np.ones(5))
    with pytest.raises(ValueError, match="is no distribution"):
        ms.nash_conv(GAMES[0], lambda _, legal, __: legal / 2)


def test_worlds_are_found_once_for_a_game(game, monkeypatch):
    first = complete_table(game, store="worlds")
    monkeypatch.setattr(finding, "_find_places", None)
    assert complete_table(str(game), store="worlds").worlds is first.worlds


def test_a_search_can_be_stopped_and_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(finding, "_PLACES_OF_SLICE", 1)
    monkeypatch.setattr(finding, "_kept", {})
    follow, shares = places.follow_worlds, []
    budget = Budget("1GB")
    left = budget.left

    def stopped(frame, rules, most):
        if most == 30:
            raise KeyboardInterrupt
        return follow(frame, rules, most)

    monkeypatch.setattr(places, "follow_worlds", stopped)
    with pytest.raises(KeyboardInterrupt):
        complete_table(LARGER, budget, store="worlds")
    assert budget.left == left
    monkeypatch.setattr(places, "follow_worlds", follow)
    tell = PlaceWalk.share
    monkeypatch.setattr(
        PlaceWalk, "share", lambda one: shares.append(tell(one)) or shares[-1]
    )
    assert complete_table(LARGER, budget, store="worlds").num_infosets > 0
    shares = shares[: len(shares) // 2]  # behind which the worlds are listed
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.1
    assert 0.9 < shares[-1] < 1


@pytest.fixture(params=GAMES[:3])
def again(request, monkeypatch):
    """A game whose worlds are made again by each pass, as if lists did not fit."""
    monkeypatch.setattr(finding, "_SHARE_LISTED", 0.0)
    monkeypatch.setattr(finding, "_kept", {})
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
def test_worlds_made_again_have_the_gradients_of_trees(again, kind):
    tree, whole = complete_table(again, store="worlds"), GameTree(again).expand_all()
    assert isinstance(tree.worlds, Places)
    policy = random_policy(again, kind)
    passes = [full_pass(tree), full_pass(whole)]
    vectors = [policy_vector(one.table, policy) for one in passes]
    found, expected = (
        one.values(vector) for one, vector in zip(passes, vectors, strict=True)
    )
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-12)
    if "num_cols=3" not in str(again):  # which takes OpenSpiel long
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
    """The rows of a vector by the strings of the infosets."""
    rows = zip(tree.info_states, tree.infosets.tolist(), strict=True)
    return {name: vector[start : start + n] for name, (_, start, _, n, _) in rows}


@pytest.mark.parametrize("algorithm", [ms.CFR_PLUS, ms.PCFR_PLUS], ids=str)
def test_solvers_on_worlds_made_again_go_the_way_of_those_on_lists(
    again, algorithm, monkeypatch, tmp_path
):
    one = broken_ties(again, algorithm, "worlds")
    assert isinstance(one.tree.worlds, Places)
    monkeypatch.setattr(finding, "_SHARE_LISTED", 0.5)
    monkeypatch.setattr(finding, "_kept", {})
    other = broken_ties(again, algorithm, "worlds")
    for solver in (one, other):
        solver.iterate(4)
    one.save(tmp_path / "solver")
    assert one.average_vector() == pytest.approx(other.average_vector(), abs=1e-9)
    one.iterate(3)
    monkeypatch.setattr(finding, "_SHARE_LISTED", 0.0)
    monkeypatch.setattr(finding, "_kept", {})
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
    """A solver whose regrets are random at first, the same for each string.

    Regrets that are exactly equal are told apart by rounding, which depends on the
    order of sums.
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
def test_solvers_go_the_way_of_those_on_trees(game, algorithm):
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
def test_two_threads_change_no_bit(game):
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


def test_auto_takes_worlds_where_the_tree_does_not_fit():
    game = load_game(GAMES[0])
    assert ms.Solver(game, ms.CFR_PLUS).store == "tree"
    assert ms.Solver(game, ms.CFR_PLUS, max_nodes=100).store == "worlds"
    with pytest.raises(ms.TreeFullError):
        ms.Solver(game, ms.CFR_PLUS, max_nodes=100, store="tree")


def test_what_cannot_be_had_is_refused():
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


# --- declarations -------------------------------------------------------------------


@compiled
def without_tries(settings, state, key):
    """Right for the plain form only."""
    return hidden_board.world_of(settings, state, key, False)


@compiled
def with_tries(settings, state, key):
    """Right for both, but finer than it must be for the plain form."""
    return hidden_board.world_of(settings, state, key, True)


@compiled
def betting(settings, state, key):
    """The cards dealt, raises, calls and who acts in leduc_poker, whose cards are not
    dealt independently."""
    key[0], key[1], key[2], key[3] = state[0], state[3], state[4], state[5]
    return 4


@compiled
def num_moves(settings, state, key):
    """Likewise of kuhn_poker."""
    key[0] = state[0]
    return 1


@compiled
def no_class(settings, state, player):
    """One class for all."""
    return 0


@compiled
def no_bids(settings, state, key):
    """The dice rolled and the last bid, by which who acts cannot be told."""
    key[0], key[1] = state[0], state[2]
    return 2


@compiled
def nothing(settings, state, key):
    """One world for all, in which what one tries depends on the other."""
    return 0


@compiled
def stones_only(settings, state, key):
    """The stones, by which who acts cannot be told in the abrupt form."""
    key[0], key[1] = state[3], state[4]
    return 2


@compiled
def hears_nothing(settings, state, player):
    """As if no answer were given."""
    return 0


def declared(name, **functions) -> BoundRules:
    game = load_game(name)
    rules = rules_of(game) or twin_of(game)
    assert rules is not None
    rules.description = rules.description._replace(**functions)
    return rules


@pytest.mark.parametrize("name", [*GAMES, LARGER, *LISTED, "phantom_ttt"])
def test_the_games_declarations_are_right(name):
    assert check_independence(declared(name), 2000) > 10


def test_a_finer_world_is_right():
    assert check_independence(declared("phantom_ttt", world_key=with_tries), 2000) > 20


@pytest.mark.parametrize(
    ("name", "functions", "message"),
    [
        ("phantom_ttt(gameversion=abrupt)", {"world_key": without_tries}, "leads to"),
        (GAMES[1], {"world_key": without_tries}, "leads to"),
        (GAMES[0], {"world_key": nothing}, "leads to|acts and"),
        ("kuhn_poker", {"world_key": num_moves, "leaf_class": no_class}, "product"),
        (
            "leduc_poker(suit_isomorphism=true)",
            {"world_key": betting, "leaf_class": no_class},
            "product",
        ),
        (LISTED[0], {"leaf_class": no_class}, "class_returns gives"),
        (LISTED[-1], {"leaf_class": no_class}, "class_returns gives"),
        (LISTED[0], {"world_key": no_bids}, "acts and"),
    ],
)
def test_a_wrong_declaration_is_refused_with_two_histories(name, functions, message):
    rules = declared(name, **functions)
    pattern = rf"histories \[.*\] and \[.*\] one world(.|\n)*({message})"
    with pytest.raises(GameError, match=pattern):
        check_independence(rules, 20_000)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"position_key": stones_only}, "player [01] acts and player [01] acts"),
        ({"position_key": nothing}, "acts and|follow"),
        ({"heard": hears_nothing}, r"\[\d+\] and \[\d+\] follow"),
    ],
)
def test_a_wrong_position_is_refused_with_two_histories(functions, message):
    rules = declared(GAMES[1], **functions)
    pattern = rf"the histories \[.*\] and \[.*\], at (.|\n)*({message})"
    with pytest.raises(GameError, match=pattern):
        check_independence(rules, 20_000)


@pytest.mark.parametrize("name", GAMES)
def test_a_world_key_alone_is_enough(name):
    plain = declared(name, position_key=None, heard=None)
    found = find_worlds(plain, Budget(10**9))
    by_places = find_worlds(declared(name), Budget(10**9))
    assert isinstance(found.worlds, Leaves)
    assert len(found.infosets) == len(by_places.infosets)
    check_independence(plain, 20_000)


def test_check_game_looks_at_worlds(monkeypatch):
    game = load_game(GAMES[0])
    ms.check_game(game, histories=5)
    monkeypatch.setattr(game, "rules", declared(GAMES[0], world_key=nothing))
    with pytest.raises(GameError, match="one world"):
        ms.check_game(game, histories=5)


# --- dark hex -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (3, 3), (4, 3)])
@pytest.mark.parametrize("abrupt", [False, True])
def test_dark_hex_has_openspiels_moves_and_returns(size, abrupt):
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


def test_a_player_of_dark_hex_knows_own_moves_and_their_answers_only():
    state = load_game("python_dark_hex").new_initial_state()
    for action in (4, 4, 2):
        state.apply_action(action)
    assert state.information_state_string(0) == "p0 4"
    assert state.information_state_string(1) == "p1 4! 2"
    assert str(state) == "..o\n.x.\n..."


# --- runs of the command line ------------------------------------------------


@pytest.mark.parametrize("store", ["worlds", "none"])
def test_a_run_is_resumed_with_the_rows_of_a_whole_one(store, tmp_path):
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


def test_a_run_that_samples_is_measured_by_worlds(tmp_path):
    words = "solve", GAMES[0], "--algorithm=external_sampling", "--max_nodes=50"
    assert main([*words, "--iterations=20", f"--output_dir={tmp_path}"]) == 0
    assert all(float(row["nash_conv"]) > 0 for row in read_rows(tmp_path))
