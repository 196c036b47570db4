"""Mistakes in compiled rules: found when a game is loaded, checked or expanded."""

import itertools

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree
from mccfr_spiel.rules.check import PlainRules, check_sizes
from mccfr_spiel.rules.description import (
    CHANCE,
    TERMINAL,
    BoundRules,
    Description,
    Parameter,
    Rules,
    Sizes,
    Words,
    compiled,
)
from mccfr_spiel.rules.expansion import expand_rules
from mccfr_spiel.rules.game import register

# A game of three moves: a coin falls, player 0 sees it and acts, then player 1, who saw
# player 0's action. `fault` says which mistake is made, after action 1 alone.

FAULTS = (
    "none",
    "zero_sum",
    "range",
    "overflow",
    "twice",
    "descending",
    "negative",
    "beyond",
    "chance_twice",
    "chance_beyond",
    "chance_none",
    "many",
    "long_key",
    "state",
    "words",
)
(
    NONE,
    ZERO_SUM,
    RANGE,
    OVERFLOW,
    TWICE,
    DESCENDING,
    NEGATIVE,
    BEYOND,
    CHANCE_TWICE,
    CHANCE_BEYOND,
    CHANCE_NONE,
    MANY,
    LONG_KEY,
    STATE,
    WORDS,
) = range(len(FAULTS))
FAULT = 0
COUNT, MOVES = 0, 1


@compiled
def start(settings, state):
    pass


@compiled
def acting(settings, state):
    if state[COUNT] == 3:
        return TERMINAL
    return state[COUNT] - 1 if state[COUNT] else CHANCE


@compiled
def is_there(state):
    return state[COUNT] >= 2 and state[MOVES] == 1 and state[MOVES + 1] == 1


@compiled
def legal_actions(settings, state, actions):
    fault = settings[FAULT]
    actions[0] = 0
    actions[1] = 1
    if state[COUNT] == 0:
        if fault == CHANCE_TWICE:
            actions[0] = 1
        if fault == CHANCE_BEYOND:
            actions[1] = 2
        if fault == CHANCE_NONE:
            return 0
    if state[COUNT] == 2 and state[MOVES + 1] == 1:
        if fault == TWICE:
            actions[0] = 1
        if fault == DESCENDING:
            actions[0] = 1
            actions[1] = 0
        if fault == NEGATIVE:
            actions[0] = -1
        if fault == BEYOND:
            actions[1] = 2
        if fault == MANY:
            return 3
    return 2


@compiled
def chance_probs(settings, state, probs):
    probs[0] = 0.5
    probs[1] = 0.5


@compiled
def apply_action(settings, state, action):
    state[MOVES + state[COUNT]] = action
    state[COUNT] += 1
    if settings[FAULT] == STATE and is_there(state):
        remember(state)


@compiled
def remember(state):
    state[4] = 1  # the first entry that Sizes.state does not have


@compiled
def info_key(settings, state, player, key):
    """Player 0 knows all, player 1 all but the coin."""
    length = 0
    for k in range(player, state[COUNT]):
        key[length] = state[MOVES + k]
        length += 1
    if settings[FAULT] == LONG_KEY and is_there(state):
        return 4
    return length


@compiled
def returns(settings, state, returns):
    fault = settings[FAULT]
    value = 1.0 if state[MOVES + 2] == 1 else -1.0
    returns[0] = value
    returns[1] = -value
    if is_there(state) and state[MOVES + 2] == 0:
        if fault == ZERO_SUM:
            returns[1] = 0.5
        if fault == RANGE:
            returns[0] = 3.0
            returns[1] = -3.0
        if fault == OVERFLOW:
            returns[0] = 1.7e308
            returns[1] = -1.7e308


def sizes(parameters):
    most = 1.7e308 if parameters["fault"] == "overflow" else 1.0
    return Sizes(
        state=4,
        num_actions=2,
        max_chance_outcomes=2,
        max_moves=2,
        max_chance_moves=1,
        key=(2, 2, 2),
        min_utility=-most,
        max_utility=most,
    )


def info_state_words(parameters, player, key):
    shown = key[1:] if parameters["fault"] == "words" else key
    return f"of {len(key)}: {shown}"


MISTAKEN = Description(
    short_name="python_mistaken",
    long_name="Mistaken",
    parameters={"fault": Parameter("none", choices=FAULTS)},
    sizes=sizes,
    rules=Rules(
        start=start,
        acting=acting,
        legal_actions=legal_actions,
        chance_probs=chance_probs,
        apply_action=apply_action,
        info_key=info_key,
        returns=returns,
    ),
    words=Words(
        state=lambda parameters, state: f"moves {state[MOVES : MOVES + state[COUNT]]}",
        action=lambda parameters, player, action: f"{player} {action}",
        info_state=info_state_words,
        observation=lambda parameters, state, player: {},
    ),
)
register(MISTAKEN)

EXPANDED = {
    "zero_sum": (r"add up to 0, .*\[-1.0, 0.5\].*Description.utility_sum", [1, 1, 0]),
    "range": (r"declared range -1 .. 1", [1, 1, 0]),
    "overflow": (r"at most 1e\+100", [1, 1, 0]),
    "twice": (r"lists \[1, 1\]; they must be different, ascending", [0, 1]),
    "descending": (r"lists \[1, 0\]; they must be different, ascending", [0, 1]),
    "negative": (r"lists \[-1, 1\].*in 0 .. 1 \(Sizes.num_actions\)", [0, 1]),
    "beyond": (r"lists \[0, 2\].*in 0 .. 1 \(Sizes.num_actions\)", [0, 1]),
    "chance_twice": (r"lists \[1, 1\].*\(Sizes.max_chance_outcomes\)", []),
    "chance_beyond": (r"lists \[0, 2\].*\(Sizes.max_chance_outcomes\)", []),
    "chance_none": (r"chance has no outcomes. legal_actions lists them", []),
    "many": (r"more than the 2 actions", [0, 1]),
    "long_key": (r"exceeds Sizes.key", [1, 1]),
}
"""What the compiled loop says; of `words` and `state` it knows nothing."""


def of_fault(fault):
    return BoundRules(MISTAKEN, {"fault": fault})


@pytest.mark.parametrize("fault", EXPANDED)
def test_a_mistake_is_found_while_the_tree_is_expanded(fault):
    message, history = EXPANDED[fault]
    with pytest.raises(GameError, match=message) as error:
        expand_rules(of_fault(fault), 1000)
    assert str(error.value).endswith(f"The history that led there: {history}.")


CHECKED = {
    "zero_sum": r"add up to 0, .*\[-1.0, 0.5\]",
    "range": r"declared range -1 .. 1",
    "overflow": r"at most 1e\+100",
    "twice": "a legal action twice",
    "descending": "do not ascend",
    "negative": "the negative legal action -1",
    "beyond": "the legal action 2, but declares num_distinct_actions=2",
    "chance_twice": "lists an outcome twice",
    "chance_beyond": "max_chance_outcomes=2",
    "chance_none": "a chance node without outcomes",
    "words": r"the keys .* of player . one string",
}


@pytest.mark.parametrize("fault", CHECKED)
def test_check_game_finds_a_mistake_in_rules(fault):
    game = f"python_mistaken(fault={fault})"
    with pytest.raises(GameError, match=CHECKED[fault]) as error:
        ms.check_game(game)
    assert "The history that led there" in str(error.value)


def test_check_game_finds_no_mistake_where_there_is_none():
    checked = ms.check_game("python_mistaken", histories=100, seconds=1000)
    # Player 0 sees one coin of two, player 1 one action of two.
    assert checked == (100, 4 * 100, 4, 2)


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
    names = expand_rules(of_fault("words"), 1000).names
    with pytest.raises(GameError, match=r"one string, 'p. of 1: \[\]'"):
        names.get("p0 of 1: []")
    right = expand_rules(of_fault("none"), 1000).names
    strings = right.strings()
    assert [right.get(string) for string in strings] == list(range(len(strings)))


def test_plain_rules_say_what_compiled_rules_say():
    rules = of_fault("none")
    plain = PlainRules(rules)
    for moves in itertools.product(range(2), repeat=3):
        state, compiled_state = plain.start(), rules.start()
        for depth, move in enumerate(moves):
            moment = plain.moment(state, list(moves[:depth]))
            assert moment.acting == rules.acting(compiled_state)
            assert moment.actions == rules.legal_actions(compiled_state)
            for player in range(2):
                key = rules.info_key(compiled_state, player)
                assert moment.keys[player] == tuple(key.tolist())
            plain.apply_action(state, list(moves[:depth]), move)
            rules.apply_action(compiled_state, move)
            np.testing.assert_array_equal(state, compiled_state)
        end = plain.moment(state, list(moves))
        assert end.returns == rules.returns(compiled_state)


def test_a_wrong_sum_of_rules_reaches_no_solver():
    game = "python_mistaken(fault=zero_sum)"
    uniform = pyspiel.UniformRandomPolicy(pyspiel.load_game(game))
    for door in (
        lambda: GameTree(game).expand_all(),
        lambda: ms.Solver(game, ms.CFR),
        lambda: ms.Solver(game, ms.EXTERNAL_SAMPLING).iterate(50),
        lambda: ms.exploitability(game, uniform),
        lambda: ms.solve_lp(game),
    ):
        with pytest.raises(GameError, match="add up to 0"):
            door()


def test_seconds_count_from_the_end_of_the_first_history():
    # Before it, rules are compiled, which may take longer than all histories.
    assert ms.check_game("python_mistaken", seconds=0.0).histories == 1
    assert ms.check_game("python_mistaken", histories=3, seconds=100).histories == 3
