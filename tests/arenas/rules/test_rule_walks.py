"""Walks over compiled rules, which store no node, compute what walks over trees do."""

import importlib
import itertools
import pickle

import numpy as np
import open_spiel.python.games  # noqa: F401
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver, algorithms
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.arenas.rules import compiled
from mccfr_spiel.arenas.rules.description import BoundRules
from mccfr_spiel.arenas.rules.game import check_sizes
from mccfr_spiel.arenas.rules.store import expand_rules
from mccfr_spiel.common.checkpoint import CheckpointError, Contents
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.policies.names import Names
from tests.arenas.rules.mistaken import (
    EXPANDED,
    MISTAKEN,
    ON_SECOND_MEETING,
    of_fault,
    sizes,
    start,
)
from tests.test_solver import assert_equal_bit_for_bit
from tests.vectors import assert_same, tables_by_name

importlib.import_module("mccfr_spiel.games")

ONE_CARD = "python_one_card_poker"
LEDUC = "python_leduc_ranks(ranks=2)"
GOOFSPIEL = "python_goofspiel(num_cards=3,points_order=random)"
PRINCESS = "python_princess_and_monster(rows=2,cols=3,horizon=4,evader=1)"
SEARCH = "python_search(turns=2)"
GAMES = [ONE_CARD, LEDUC, GOOFSPIEL, PRINCESS, SEARCH]
LARGE = "python_goofspiel(num_cards=7)"


def sampled(sampling, minimizer=None, averaging=ms.LINEAR, alternating=True, batch=1):
    minimizer = ms.regret_matching() if minimizer is None else minimizer
    return ms.Algorithm(sampling, minimizer, averaging, alternating, batch)


SAMPLINGS = {
    "external": sampled(ms.EXTERNAL),
    "outcome": sampled(ms.OUTCOME),
    "chance": sampled(ms.CHANCE),
    "opponent": sampled(ms.OPPONENT),
    "average_strategy": sampled(ms.AVERAGE_STRATEGY, averaging=ms.UNIFORM),
    "baseline": sampled(algorithms.outcome(0.4, baseline="learned")),
    "branching_baseline": sampled(algorithms.external(baseline="learned")),
    "predictive_baseline": sampled(algorithms.outcome(0.4, baseline="predictive")),
    "batches": sampled(ms.EXTERNAL, batch=3),
    "batches_of_outcomes": sampled(ms.OUTCOME, batch=4, alternating=False),
    "at_once": sampled(ms.EXTERNAL, alternating=False),
    "pruning": sampled(ms.EXTERNAL._replace(prune_below=-0.5), averaging=ms.UNIFORM),
    "pruning_opponents": sampled(ms.CHANCE._replace(prune=True)),
}
MINIMIZERS = {
    "initial": algorithms.regret_matching(initial_regret=0.5),
    "plus": ms.regret_matching_plus(),
    "discounted": algorithms.discounted_regret_matching(1.5, -0.5),
    "ftrl": ms.ftrl(0.3),
    "omd": ms.omd(0.3),
}
ALGORITHMS = SAMPLINGS | {
    f"{rule}_{label}": sampled(sampling, MINIMIZERS[rule])
    for rule in MINIMIZERS
    for label, sampling in (("external", ms.EXTERNAL), ("outcome", ms.OUTCOME))
}


def whole_and_walking(game, algorithm, seed=5):
    whole = Solver(GameTree(game).expand_all(), algorithm, seed=seed)
    walking = Solver(game, algorithm, seed=seed, store="none")
    assert (whole.store, walking.store) == ("tree", "none")
    return whole, walking


# --- the same bits --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "game"), [*zip(ALGORITHMS, itertools.cycle(GAMES), strict=False)]
)
def test_walks_without_a_tree_have_the_bits_of_walks_over_the_tree(game, name):
    algorithm = ALGORITHMS[name]
    whole, walking = whole_and_walking(game, algorithm)
    grown = Solver(game, algorithm, seed=5, store="none")
    for more in (0, 1, 2, 14):
        whole.iterate(more)
        walking.iterate(more)
        assert walking.nodes_touched == whole.nodes_touched
    mine, theirs = tables_by_name(walking), tables_by_name(whole)
    assert mine == {info_state: theirs[info_state] for info_state in mine}
    if "initial" not in name:
        assert_equal_bit_for_bit(walking, whole)
    grown.iterate(17)
    assert tables_by_name(grown) == mine
    assert walking.tree.num_nodes == 1


# --- which is chosen --------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm",
    [
        ms.algorithms.PRUNED_CFR,
        ms.BALANCED_OUTCOME_SAMPLING,
        sampled(ms.EXTERNAL, ms.ftrl(1, weights="kroer")),
    ],
)
def test_what_needs_a_tree_is_refused_without_one(algorithm):
    with pytest.raises(ValueError, match=r"store='none' keeps no tree, and .* needs"):
        Solver(ONE_CARD, algorithm, store="none")
    Solver(ONE_CARD, algorithm, store="auto").iterate(1)


def test_games_without_rules_are_refused_without_a_tree():
    with pytest.raises(ValueError, match=r"tic_tac_toe.. has no compiled rules"):
        Solver("tic_tac_toe", store="none")
    with pytest.raises(ValueError, match=r"but .* has an abstraction"):
        Solver(
            ONE_CARD, abstraction=pyspiel.State.information_state_string, store="none"
        )
    with pytest.raises(ValueError, match="store='some' is not one of auto, tree, none"):
        Solver(ONE_CARD, store="some")


def test_a_tree_with_nodes_is_not_walked_without_them():
    with pytest.raises(ValueError, match=r"58 nodes .* already, .* give the game inst"):
        Solver(GameTree(ONE_CARD).expand_all(), store="none")
    first = Solver(GameTree(ONE_CARD), seed=1, store="none")
    with pytest.raises(
        ValueError, match=r"keeps no nodes, .* Give the solver the game"
    ):
        Solver(first.tree, ms.EXTERNAL_SAMPLING, store="tree")
    with pytest.raises(ValueError, match=r"keep no nodes, .* Give the game instead"):
        Solver(first.tree, ms.CFR)
    # Solvers may share such an arena.
    second = Solver(first.tree, seed=2)
    alone = Solver(ONE_CARD, seed=2, store="none")
    for _ in range(5):
        first.iterate(3)
        second.iterate(3)
        alone.iterate(3)
    mine, theirs = tables_by_name(second), tables_by_name(alone)
    assert theirs == {name: mine[name] for name in theirs}
    assert second.store == "none"


# --- stops and files ----------------------------------------------------------


def test_memory_too_small_for_one_walk_is_named():
    solver = Solver(LARGE, seed=5, max_memory="500KB", store="none")
    with pytest.raises(WalkTooLargeError, match=r"A single walk .* max_memory=500,000"):
        solver.iterate(1)
    assert solver.num_iterations == 0
    with pytest.raises(MemoryBudgetError, match="max_memory=1,000 bytes"):
        Solver(LARGE, seed=5, max_memory=1000, store="none")


def test_a_damaged_file_is_refused():
    solver = Solver(SEARCH, seed=5, store="none")
    solver.iterate(3)
    header, arrays = solver.contents()
    keys, ends = arrays["keys"], arrays["key_ends"]
    wrong = {
        "another key": {"keys": keys + np.uint16(1)},
        "other ends": {"key_ends": ends[::-1].copy()},
        "no end": {"key_ends": ends[:-1]},
        "other numbers": {"keys": keys.astype(np.int64)},
        "a long key": {"key_ends": np.append(ends[:-1], ends[-1] + 100)},
    }
    for changed in wrong.values():
        with pytest.raises(CheckpointError):
            Solver.from_contents(Contents(header, arrays | changed))
    assert_same(Solver.from_contents(Contents(header, arrays)), solver)


# --- mistakes of rules -------------------------------------------------------------


@pytest.mark.parametrize("fault", [*EXPANDED, "none"])
def test_a_mistake_of_rules_is_found_where_a_walk_meets_it(fault, monkeypatch):
    rules = of_fault(fault)
    tree = GameTree("python_mistaken")
    monkeypatch.setattr(tree, "rules", rules)
    solver = Solver(tree, ms.OUTCOME_SAMPLING, store="none")
    if fault == "none":
        solver.iterate(300)
        return
    message, history = EXPANDED[fault]
    for _ in range(3):  # it is met again
        with pytest.raises(GameError, match=message) as error:
            solver.iterate(300)
        if fault not in ON_SECOND_MEETING:
            assert str(error.value).endswith(f"that led there: {history}.")
    assert solver.num_iterations < 300
    policy = solver.average_policy()
    assert all(
        sum(row.values()) == pytest.approx(1) for row in policy.to_dict().values()
    )


# --- how good it is ---------------------------------------


@pytest.mark.parametrize("how", ["file", "pickle"])
def test_a_policy_is_handed_out_without_a_list_of_its_strings(
    how, tmp_path, monkeypatch
):
    """The strings of millions of infosets take more memory than all else."""
    solver = Solver(GOOFSPIEL, ALGORITHMS["external"], seed=2, store="none")
    solver.iterate(30)
    policy = solver.average_policy()

    def refuse(names):
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(KeyNames, "strings", refuse)
        assert not solver.tree.shared_strings
        if how == "file":
            policy.save(tmp_path / "policy")
            other = ms.SequencePolicy.load(tmp_path / "policy")
        else:
            other = pickle.loads(pickle.dumps(policy))
    assert isinstance(other.tree, Names)
    # OpenSpiel's states are found in it by their strings.
    met = set()
    stack = [policy.turn_based_game.new_initial_state()]
    while stack:
        state = stack.pop()
        stack.extend(state.child(action) for action in state.legal_actions())
        player = state.current_player()
        if player < 0:
            continue
        info_state = state.information_state_string()
        assert other.action_probabilities(state) == policy.action_probabilities(state)
        infoset = other.tree.find(info_state, player)
        if infoset >= 0:
            met.add(infoset)
    assert len(met) == len(policy) > 50


# --- mistakes found when a game is loaded, checked or expanded ---------------


@pytest.mark.parametrize("fault", EXPANDED)
def test_a_mistake_is_found_while_the_tree_is_expanded(fault):
    message, history = EXPANDED[fault]
    with pytest.raises(GameError, match=message) as error:
        expand_rules(of_fault(fault), 1000, Budget(10**9))
    assert str(error.value).endswith(f"The history that led there: {history}.")


def test_rules_without_a_mistake_are_expanded():
    assert (
        len(expand_rules(of_fault("none"), 1000, Budget(10**9)).nodes) == 1 + 2 + 4 + 8
    )


@compiled
def misspelled(settings, state):
    return stat[0]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


@compiled
def adds_words(settings, state):
    return state[0] + "1"


@pytest.mark.compiled
def test_a_rule_that_is_not_compiled_or_returns_a_wrong_type_is_named():
    line = misspelled.py_func.__code__.co_firstlineno + 2
    for acting, message in (
        (sizes, "acting must be decorated"),
        (start, "The rule acting"),
        (misspelled, rf"'stat' is not defined \(misspelled, .*, line {line}\)"),
        (adds_words, rf"add\(int64, .*\(adds_words, .*, line {line + 5}\)"),
    ):
        rules = MISTAKEN.rules._replace(acting=acting)
        bound = BoundRules(MISTAKEN._replace(rules=rules), {})
        with pytest.raises(ValueError, match=message):
            expand_rules(bound, 1000, Budget(10**9))


CHECKED = {
    "zero_sum": r"add up to 0, .*\[-1.0, 0.5\]",
    "range": r"declared range -1 .. 1",
    "overflow": r"at most 1e\+100",
    "twice": "a legal action twice",
    "beyond": "the legal action 2, but declares num_distinct_actions=2",
    "chance_twice": "lists an outcome twice",
    "chance_none": "a chance node without outcomes",
    "words": r"the keys .* of player . one string",
}


@pytest.mark.parametrize("fault", CHECKED)
def test_check_game_finds_a_mistake_in_rules(fault):
    game = f"python_mistaken(fault={fault})"
    with pytest.raises(GameError, match=CHECKED[fault]) as error:
        ms.check_game(game)
    assert "The history that led there" in str(error.value)


def test_outcomes_of_chance_may_come_in_any_order():
    text = "python_mistaken(fault=chance_descends)"
    assert ms.check_game(text, histories=20).histories == 20
    state = pyspiel.load_game(text).new_initial_state()
    assert [outcome for outcome, _ in state.chance_outcomes()] == [1, 0]
    first = state.child(1).information_state_string(0)
    tree = GameTree(text).expand_all()
    assert tree.info_states[0] == first
    assert tree.nodes["infoset"][tree.nodes["first_child"][0]] == 0
    solver = ms.Solver(text, ms.EXTERNAL_SAMPLING, seed=1, store="none")
    whole = ms.Solver(text, ms.EXTERNAL_SAMPLING, seed=1)
    for one in (solver, whole):
        one.iterate(20)
    policy = whole.average_policy().to_dict()
    assert solver.average_policy().to_dict() == policy
    assert len(policy) == 4


@pytest.mark.parametrize("fault", ["state", "many", "long_key"])
def test_a_game_that_writes_outside_of_its_memory_is_not_loaded(fault):
    with pytest.raises(GameError, match=r"Correct the rule or Sizes\.") as error:
        check_sizes(of_fault(fault))
    said = str(error.value)
    if fault == "state":  # by a function that the rule calls
        assert "state[4] = 1" in said
        assert "The history that led there: [1, 1]" in said
    for load in (pyspiel.load_game, ms.Solver, ms.check_game):
        with pytest.raises(GameError, match=r"python_mistaken: the rule .*Sizes"):
            load(f"python_mistaken(fault={fault})")


def test_two_keys_with_one_string_are_refused_where_strings_are_looked_up():
    def names_of(fault):
        whole = expand_rules(of_fault(fault), 1000, Budget(10**9))
        return KeyNames(of_fault(fault), whole.keys, whole.infosets["player"])

    with pytest.raises(GameError, match=r"one string, 'p. of 1: \[\]'"):
        names_of("words").find("p0 of 1: []")
    right = names_of("none")
    assert [right.find(string) for string in right] == list(range(len(right)))
