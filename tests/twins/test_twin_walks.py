"""Walks over compiled twins, which store no node, compute what walks over trees do.

The trees are expanded through pyspiel, and the strings are pyspiel's. Only the places
of draws are those of walks over the twin.
"""

import importlib
import itertools
import pickle
import random

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver, algorithms
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.limits import TreeFullError
from mccfr_spiel.rules.expansion import expand_rules
from mccfr_spiel.solving import rule_growth
from mccfr_spiel.storage.checkpoint import CheckpointError, Contents
from mccfr_spiel.tree import twin_trees
from mccfr_spiel.tree.growth import WalkTooLargeError
from mccfr_spiel.tree.infosets import KeyNames
from mccfr_spiel.tree.loading import turn_based
from mccfr_spiel.tree.twin_trees import TwinWarning, known_twin
from mccfr_spiel.twins.spelling import put, put_number, word
from tests import reference
from tests.test_solver import assert_equal_bit_for_bit
from tests.twins.broken import broken
from tests.twins.key_places import take_places_from_keys

importlib.import_module("mccfr_spiel.games")

KUHN = "kuhn_poker(players=3)"
LEDUC = "leduc_poker(suit_isomorphism=True)"
DICE = "liars_dice(dice_sides=3)"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True)"
HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
GAMES = [KUHN, LEDUC, DICE, GOOFSPIEL, HEX]
LARGE = "goofspiel(num_cards=7,imp_info=True,points_order=descending)"


def sampled(sampling, minimizer=None, averaging=ms.LINEAR, batch=1):
    minimizer = ms.regret_matching() if minimizer is None else minimizer
    return ms.Algorithm(sampling, minimizer, averaging, True, batch)


ALGORITHMS = {
    "external": sampled(ms.EXTERNAL),
    "outcome": sampled(ms.OUTCOME),
    "chance": sampled(ms.CHANCE),
    "average_strategy": sampled(ms.AVERAGE_STRATEGY, averaging=ms.UNIFORM),
    "ftrl_external": sampled(ms.EXTERNAL, ms.ftrl(0.3)),
    "opponent": sampled(ms.OPPONENT),
    "baseline": sampled(algorithms.outcome(0.4, baseline="learned")),
    "batches": sampled(ms.EXTERNAL, batch=3),
    "plus": sampled(ms.EXTERNAL, ms.regret_matching_plus()),
    "omd_outcome": sampled(ms.OUTCOME, ms.omd(0.3)),
}
QUICK = "external", "outcome"


def tables_by_name(solver):
    """The bytes of all tables of each state that was met, by OpenSpiel's strings."""
    solver.average_policy()
    tables = solver.state.saved()
    rows = zip(solver.tree.info_states, solver.tree.infosets.tolist(), strict=True)
    return {
        name: [
            tables[one][start : start + count].tobytes()
            for one in ("policy", "memory", "average", "baseline")
        ]
        for name, (_, start, _, count, _) in rows
    }


# --- the same bits --------------------------------------------------------------


@pytest.fixture
def same_draws(monkeypatch):
    take_places_from_keys(monkeypatch)


@pytest.mark.parametrize(
    ("game", "name"),
    [(LEDUC, "external"), (GOOFSPIEL, "external"), (GOOFSPIEL, "outcome")],
)
def test_walks_over_twins_are_the_textbook(game, name, monkeypatch):
    twin = known_twin(turn_based(pyspiel.load_game(game)))
    assert twin is not None
    whole = expand_rules(twin, 10**6)
    players = whole.infosets["player"]
    names = zip(players.tolist(), KeyNames(twin, whole.keys, players), strict=True)
    places = dict(zip(names, whole.infosets["place"].tolist(), strict=True))
    monkeypatch.setattr(reference, "infoset_place", lambda *key: places[key])
    sampling, minimizer, averaging, alternating, _ = ALGORITHMS[name]
    textbook = reference.Textbook(
        game, sampling, minimizer, averaging, alternating, seed=11
    )
    solver = Solver(game, ALGORITHMS[name], seed=11, store="none")
    textbook.run(10)
    solver.iterate(10)
    mine, theirs = solver.average_policy().to_dict(), textbook.average_policy()
    for info_state, probabilities in mine.items():
        assert theirs[info_state] == pytest.approx(probabilities, abs=1e-12)
    assert solver.nodes_touched == textbook.nodes_touched


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize(
    ("name", "game"), [*zip(ALGORITHMS, itertools.cycle(GAMES), strict=False)]
)
def test_walks_over_twins_have_the_bits_of_walks_over_trees(game, name):
    algorithm = ALGORITHMS[name]
    whole = Solver(GameTree(game, twin=False).expand_all(), algorithm, seed=5)
    walking = Solver(game, algorithm, seed=5, store="none")
    assert (whole.store, walking.store) == ("tree", "none")
    for more in (1, 2, 20):
        whole.iterate(more)
        walking.iterate(more)
        assert walking.nodes_touched == whole.nodes_touched
    mine, theirs = tables_by_name(walking), tables_by_name(whole)
    assert mine == {info_state: theirs[info_state] for info_state in mine}
    assert len(mine) > 9
    assert_equal_bit_for_bit(walking, whole)
    assert walking.tree.num_nodes == 1


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("game", [KUHN, GOOFSPIEL])
def test_policies_answer_openspiels_states(game, tmp_path):
    solver = Solver(game, ALGORITHMS["external"], seed=2, store="none")
    solver.iterate(30)
    grown = Solver(game, ALGORITHMS["external"], seed=2, twin=False)
    grown.iterate(30)
    policy, other = solver.average_policy(), grown.average_policy()
    assert policy.to_dict() == other.to_dict()
    assert ms.nash_conv(game, policy) == ms.nash_conv(game, other)
    policy.save(tmp_path / "policy")
    loaded = ms.SequencePolicy.load(tmp_path / "policy")
    state = policy.turn_based_game.new_initial_state()
    generator = np.random.default_rng(1)
    while not state.is_terminal():
        if not state.is_chance_node():
            probs = other.action_probabilities(state)
            assert policy.action_probabilities(state) == probs
            assert loaded.action_probabilities(state) == probs
        state.apply_action(int(generator.choice(state.legal_actions())))
    assert solver.tree.find("no such string") == -1


# --- strings and places ---------------------------------------------------------

COINS = word("Coins: ")


@jit
def written(number):
    """What `put` and `put_number` write of a number, from the third byte on."""
    text = np.zeros(40, np.uint8)
    at = put_number(text, put(text, 2, COINS), number)
    text[at] = 33
    return text[: at + 1]


def test_numbers_are_spelled_in_decimal_digits():
    numbers = [*range(-120, 1200), 2**31, 2**62, -(2**62)]
    for number in numbers:
        expected = b"\0\0Coins: " + str(number).encode() + b"!"
        assert written(number).tobytes() == expected


def store_of(solver):
    """What walks have written, as it is."""
    store = solver.tree.rule_store
    assert store is not None
    return store


def test_names_find_infosets_of_arrays_that_are_others_by_now():
    game = "liars_dice(dice_sides=4)"
    solver = Solver(game, ALGORITHMS["external"], seed=2, store="none")
    solver.iterate(1)
    names, room = solver.tree.infoset_names, store_of(solver).room()
    solver.iterate(20)
    assert store_of(solver).room() > room
    for infoset in range(0, len(names), 7):
        assert names.find(names.info_state(infoset)) == infoset


@pytest.mark.usefixtures("same_draws")
def test_tables_that_start_by_draws_have_the_bits_of_those_over_a_tree():
    initial = sampled(ms.EXTERNAL, algorithms.regret_matching(initial_regret=0.5))
    plain = Solver(GOOFSPIEL, ALGORITHMS["external"], seed=2, store="none")
    plain.iterate(2)
    walking = Solver(plain.tree, initial, seed=5)
    alone = Solver(GOOFSPIEL, initial, seed=5, store="none")
    whole = Solver(GameTree(GOOFSPIEL, twin=False).expand_all(), initial, seed=5)
    for _ in range(2):
        for solver in (walking, alone, whole):
            solver.iterate(3)
        theirs = tables_by_name(whole)
        for solver in (walking, alone):
            mine = tables_by_name(solver)
            assert mine == {info_state: theirs[info_state] for info_state in mine}
        plain.iterate(10)


@pytest.mark.compiled
def test_room_that_was_taken_in_advance_leaves_some_for_other_solvers():
    solver = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=5, max_memory="10MB")
    solver.iterate(100)
    store = store_of(solver)
    assert store.room()[0] > 4 * store.sizes()[0]
    budget = solver.tree.budget
    assert budget.left > 0.45 * budget.limit
    other = Solver(solver.tree, ms.OUTCOME_SAMPLING, seed=5)
    other.iterate(100)
    assert tables_by_name(other) == tables_by_name(solver)
    assert budget.left >= 0


# --- which is chosen --------------------------------------------------------------


@pytest.mark.compiled
def test_a_twin_is_walked_over_by_itself_where_a_tree_does_not_fit():
    solver = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=3, max_memory="1GiB")
    assert solver.store == "none"
    solver.iterate(5)
    through = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=3, twin=False)
    assert through.store == "tree"
    through.iterate(5)
    # Small trees grow through pyspiel, unless the twin is asked for.
    assert Solver(KUHN).tree.num_nodes == 1
    assert Solver(KUHN).store == "tree"
    asked = Solver(KUHN, twin=True)
    assert asked.tree.is_complete
    assert isinstance(asked.tree.infoset_names, KeyNames)
    assert Solver(KUHN, max_nodes=100, twin=True).store == "none"


def test_what_has_no_twin_is_refused_without_a_tree():
    with pytest.raises(ValueError, match=r"no compiled rules but those of its twin"):
        Solver(KUHN, store="none", twin=False)
    with pytest.raises(ValueError, match=r"has an abstraction"):
        Solver(KUHN, store="none", abstraction=pyspiel.State.information_state_string)


def test_a_twin_that_differs_is_not_walked_over(monkeypatch):
    monkeypatch.setattr(twin_trees, "twin_of", broken)
    monkeypatch.setattr(twin_trees, "WORTH_WALKING", 10)
    with pytest.warns(TwinWarning, match="returns are"):
        assert Solver("kuhn_poker").store == "tree"
    with (
        pytest.warns(TwinWarning),
        pytest.raises(ValueError, match=r"kuhn_poker.* its twin, which differs"),
    ):
        Solver("kuhn_poker", store="none")


@pytest.mark.usefixtures("same_draws")
def test_imperfect_recall_is_told_in_the_words_of_the_game():
    game = "goofspiel(num_cards=4)"
    words = []
    for store in ("none", "tree"):
        solver = Solver(game, ms.EXTERNAL_SAMPLING, seed=1, store=store)
        with pytest.raises(ms.GameError, match="imperfect recall") as error:
            solver.iterate(5)
        words.append((str(error.value), solver.num_iterations))
        solver.average_policy()
    assert words[0] == words[1]


@pytest.mark.compiled
@pytest.mark.parametrize(
    "game",
    [
        "goofspiel(num_cards=16,imp_info=True,points_order=descending)",
        "python_goofspiel(num_cards=20)",
    ],
)
def test_a_hopeless_walk_is_told_in_words(game, monkeypatch):
    monkeypatch.setattr(rule_growth, "_LARGE_WALK", 100)
    monkeypatch.setattr(rule_growth, "_SMALL_SHARE", 2)  # a walk is not measured
    solver = Solver(game, ms.EXTERNAL_SAMPLING, seed=3, max_memory="1GiB")
    assert solver.store == "none"
    with pytest.raises(WalkTooLargeError, match=r"surely visits more .* Use outcome"):
        solver.iterate(1)
    assert solver.num_iterations == 0
    solver.average_policy()
    # 10^5 nodes are no reason to stop.
    fine = Solver(LARGE, ms.EXTERNAL_SAMPLING, seed=3)
    fine.iterate(10)
    assert fine.num_iterations == 10


@pytest.mark.compiled
@pytest.mark.parametrize(
    "game",
    [
        "battleship",
        "goofspiel(num_cards=16,imp_info=True,points_order=descending)",
        "python_goofspiel(num_cards=20)",
    ],
)
def test_a_first_walk_that_cannot_fit_is_refused_early(game):
    solver = Solver(game, ms.EXTERNAL_SAMPLING, seed=3, max_memory="1GiB")
    with pytest.raises(WalkTooLargeError, match=r"surely meets more information sets"):
        solver.iterate(1)
    store = store_of(solver)
    assert 0 < store.bytes_used() < 2**30 / 16
    assert solver.num_iterations == 0
    solver.average_policy()


SMALL_WALKS = [
    "goofspiel(num_cards=5,imp_info=True,points_order=descending)",
    "python_goofspiel(num_cards=5)",
]


def own_decisions(state, player):
    """How many actions there are at each decision of a player, in OpenSpiel's game, if
    the others and chance do what comes first."""
    if state.is_terminal():
        return []
    actions = state.legal_actions()
    if state.current_player() != player:
        return own_decisions(state.child(actions[0]), player)
    below = (own_decisions(state.child(action), player) for action in actions)
    return [len(actions), *itertools.chain(*below)]


@pytest.mark.compiled
@pytest.mark.parametrize("game", [LARGE, "python_goofspiel(num_cards=7)"])
def test_a_walk_that_fits_is_never_refused(game, monkeypatch):
    def refusal(memory):
        """How the first iteration of a solver with that memory is refused, if it is."""
        solver = Solver(
            game, ms.EXTERNAL_SAMPLING, seed=3, max_memory=memory, store="none"
        )
        try:
            solver.iterate(1)
        except TreeFullError as error:
            return str(error)
        return ""

    # The least memory with which it fits, found without a look ahead.
    with monkeypatch.context() as patch:
        patch.setattr(rule_growth, "_SMALL_SHARE", 2)
        low, high = 300_000, 30_000_000
        assert refusal(low)
        assert not refusal(high)
        while high - low > 10_000:
            middle = (low + high) // 2
            low, high = (middle, high) if refusal(middle) else (low, middle)
    for share in (1 / 64, 1e-9):
        monkeypatch.setattr(rule_growth, "_SMALL_SHARE", share)
        assert not refusal(high)
        assert refusal(low)
        assert "surely meets more" in refusal(high // 10)


@pytest.mark.parametrize("game", SMALL_WALKS)
def test_what_a_walk_meets_is_estimated_without_bias(game):
    solver = Solver(game, ms.EXTERNAL_SAMPLING, seed=3, store="none")
    growth, tables = solver._growth, solver.state.tables
    assert isinstance(growth, rule_growth.RuleGrowth)
    probes = growth._probes
    state = solver.tree.game.new_initial_state()
    for player, rates in itertools.product((0, 1), [(1, 0), (0, 1), (100, 7)]):
        decisions = own_decisions(state, player)
        truth = sum(rates[0] + rates[1] * count for count in decisions)
        # In this game all of a walk's histories tell the same.
        for seed in range(3):
            generator = random.Random(seed)
            size = probes._probe(tables, player, generator, 10**9, rates)
            assert size == truth > 50


# --- files ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*QUICK, "batches"])
def test_a_resumed_run_has_the_bits_of_one_that_was_not_cut(name, tmp_path):
    solver, uncut = (
        Solver(LEDUC, ALGORITHMS[name], seed=5, store="none") for _ in range(2)
    )
    for more in (0, 3, 20):
        solver.iterate(more)
        uncut.iterate(more)
        solver.save(tmp_path / "solver")
        solver = Solver.load(tmp_path / "solver")
        assert solver.store == "none"
        for one in (solver, pickle.loads(pickle.dumps(solver))):
            assert tables_by_name(one) == tables_by_name(uncut)
            np.testing.assert_array_equal(one.tree.infosets, uncut.tree.infosets)


@pytest.mark.compiled
def test_full_memory_ends_a_run_that_can_be_resumed(tmp_path):
    solver = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=5, max_memory="1MB")
    with pytest.raises(ms.MemoryBudgetError, match="met so far, their keys and tables"):
        solver.iterate(3000)
    done = solver.num_iterations
    assert 0 < done < 3000
    assert solver.tree.budget.left >= 0
    solver.save(tmp_path / "solver")
    resumed = Solver.load(tmp_path / "solver", max_memory="100MB")
    uncut = Solver(LARGE, ms.OUTCOME_SAMPLING, seed=5, max_memory="100MB")
    resumed.iterate(40)
    uncut.iterate(done + 40)
    mine, theirs = tables_by_name(resumed), tables_by_name(uncut)
    assert {name: mine[name] for name in theirs} == theirs


def test_a_file_of_other_strings_is_refused():
    solver = Solver(KUHN, seed=5, store="none")
    solver.iterate(5)
    header, arrays = solver.contents()
    infosets = arrays["infosets"].copy()
    infosets["place"][3] += np.uint64(1)
    with pytest.raises(CheckpointError):
        Solver.from_contents(Contents(header, arrays | {"infosets": infosets}))
    assert_equal_bit_for_bit(Solver.from_contents(Contents(header, arrays)), solver)
