"""Walks over compiled rules, which store no node, compute what walks over trees do."""

import importlib
import itertools
import pickle

import open_spiel.python.games  # noqa: F401
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver, algorithms
from mccfr_spiel.limits import MemoryBudgetError
from mccfr_spiel.policies.names import Names
from mccfr_spiel.tree.growth import WalkTooLargeError
from mccfr_spiel.tree.infosets import KeyNames
from tests.rules.mistaken import EXPANDED, ON_SECOND_MEETING, of_fault
from tests.test_solver import assert_equal_bit_for_bit
from tests.vectors import tables_by_name

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
        ms.PRUNED_CFR,
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
            ONE_CARD,
            abstraction=pyspiel.State.information_state_string,
            store="none",
        )
    with pytest.raises(ValueError, match="store='some' is not one of auto, tree, none"):
        Solver(ONE_CARD, store="some")


def test_a_tree_with_nodes_is_not_walked_without_them():
    with pytest.raises(ValueError, match=r"58 nodes .* already, .* take a new one"):
        Solver(GameTree(ONE_CARD).expand_all(), store="none")
    tree = GameTree(ONE_CARD)
    first = Solver(tree, seed=1, store="none")
    for store in ("tree", "auto"):
        with pytest.raises(
            ValueError, match=r"keep no nodes. Give the solver the game"
        ):
            Solver(
                tree, ms.CFR if store == "auto" else ms.EXTERNAL_SAMPLING, store=store
            )
    with pytest.raises(ValueError, match=r"keep no nodes. Make another"):
        tree.expand_all()
    # Solvers may share such a tree.
    second = Solver(tree, seed=2)
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
