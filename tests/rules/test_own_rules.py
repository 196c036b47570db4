"""Mistakes in compiled rules: found when a game is loaded, checked or expanded."""

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree
from mccfr_spiel.rules import compiled
from mccfr_spiel.rules.check import check_sizes
from mccfr_spiel.rules.description import BoundRules
from mccfr_spiel.rules.expansion import expand_rules
from mccfr_spiel.tree.infosets import KeyNames
from tests.rules.mistaken import EXPANDED, MISTAKEN, of_fault, sizes, start


@pytest.mark.parametrize("fault", EXPANDED)
def test_a_mistake_is_found_while_the_tree_is_expanded(fault):
    message, history = EXPANDED[fault]
    with pytest.raises(GameError, match=message) as error:
        expand_rules(of_fault(fault), 1000)
    assert str(error.value).endswith(f"The history that led there: {history}.")


def test_rules_without_a_mistake_are_expanded():
    assert len(expand_rules(of_fault("none"), 1000).nodes) == 1 + 2 + 4 + 8


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
            expand_rules(bound, 1000)


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
        whole = expand_rules(of_fault(fault), 1000)
        return KeyNames(of_fault(fault), whole.keys, whole.infosets["player"])

    with pytest.raises(GameError, match=r"one string, 'p. of 1: \[\]'"):
        names_of("words").find("p0 of 1: []")
    right = names_of("none")
    assert [right.find(string) for string in right] == list(range(len(right)))
