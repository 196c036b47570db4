"""Errors on the command line speak of flags, and whole numbers may be written 1e6."""

import importlib

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.experiments.command_flags import WholeNumberParser
from mccfr_spiel.experiments.flag_words import in_flags
from mccfr_spiel.experiments.flags import named_settings
from mccfr_spiel.experiments.settings import check

importlib.import_module("mccfr_spiel.games")  # registers them

REFUSED = [
    ({"epsilon": 2.0, "sampling": "outcome"}, ["--epsilon=2.0 is not"]),
    ({"epsilon": 0.5}, ["--epsilon=0.5 is given", "--sampling=outcome"]),
    ({"step_size": 0.5}, ["--step_size=0.5 is given", "--minimizer=ftrl"]),
    ({"step_size": -1.0, "minimizer": "omd"}, ["--step_size=-1.0 is not"]),
    ({"weights": "kroer"}, ["--weights=kroer is given", "--minimizer=omd"]),
    ({"random_initial_regrets": -1.0}, ["--random_initial_regrets=-1.0 is not"]),
    (
        {"random_initial_regrets": 0.1, "minimizer": "ftrl"},
        ["--random_initial_regrets=0.1 is", "--minimizer=regret_matching_plus"],
    ),
    (
        {"alpha": 2.0},
        ["--alpha=2.0 is given", "--minimizer=discounted_regret_matching"],
    ),
    ({"alpha": float("nan"), "algorithm": "dcfr"}, ["--alpha=nan is not a number in"]),
    ({"beta": 0.0, "algorithm": "pcfr_plus"}, ["--beta=0.0 is given", "has none"]),
    ({"prediction": -1.0, "algorithm": "pcfr_plus"}, ["--prediction=-1.0 is not"]),
    ({"prediction": 0.5, "algorithm": "dcfr"}, ["--minimizer=predictive_regret_mat"]),
    (
        {"prediction": 1.0, "algorithm": "pcfr_plus", "sampling": "external"},
        ["Use it with --sampling=full, not with external sampling"],
    ),
    ({"temperature": 1.0, "algorithm": "cfr"}, ["choose --minimizer=mmd, or drop"]),
    ({"gamma": -1.0, "algorithm": "dcfr"}, ["--gamma=-1.0 is not"]),
    (
        {"gamma": 2.0, "averaging": "linear"},
        ["--averaging=linear and --gamma=2.0 both"],
    ),
    ({"gamma": 2.0, "algorithm": "lp"}, ["--gamma=2.0 is given"]),
    (
        {"horizon": 9},
        ["--horizon=9 is given", "--algorithm=hs_dcfr or --algorithm=hs_p"],
    ),
    ({"horizon": 0, "algorithm": "hs_dcfr"}, ["--horizon=0 is not"]),
    (
        {"algorithm": "hs_pcfr_plus", "until_nodes_touched": 99},
        ["--algorithm=hs_pcfr_plus with --until_nodes_touched=99 needs a horizon"],
    ),
    ({"averaging": "linear", "algorithm": "lp"}, ["--averaging=linear is given"]),
    ({"iterations": 0}, ["--iterations=0 is not"]),
    ({"until_nodes_touched": 9, "algorithm": "egt"}, ["--until_nodes_touched=9 is"]),
    ({"until_nash_conv": -1.0}, ["--until_nash_conv=-1.0 is not"]),
    (
        {"until_nash_conv": 1.0, "evaluate": "none"},
        ["--until_nash_conv=1.0 is never known with --evaluate=none"],
    ),
    (
        {"evaluate": "sampled", "bounds": True},
        ["--evaluate=sampled spares", "use --evaluate=exact"],
    ),
    (
        {"evaluate": "none", "evaluate_last": True},
        ["which --evaluate_last takes; use --evaluate=exact"],
    ),
    ({"evaluate_last": True, "algorithm": "egt"}, ["egt has one policy", "drop --ev"]),
    ({"bounds": True, "algorithm": "lp"}, ["drop --bounds=True"]),
    (
        {"bounds": True, "algorithm": "cfr_plus"},
        ["--bounds=True cannot", "--minimizer=regret_matching and --averaging=uniform"],
    ),
    (
        {"bounds": True, "random_initial_regrets": 0.5},
        ["--bounds=True cannot", "regret_matching from other regrets than 0"],
    ),
    ({"bounds": True, "sampling": "chance"}, ["--bounds=True", "--sampling=external"]),
    ({"method": "simplex"}, ["--method=simplex is given"]),
    ({"time_limit": 0.0, "algorithm": "lp"}, ["--time_limit=0.0 is not"]),
    ({"max_nodes": 0}, ["--max_nodes=0 is not"]),
    ({"max_memory": "much"}, ["--max_memory='much' is no"]),
    ({"game": "kuhn_poker(players=2)", "players": 3}, ["--players=3", "r(players=2);"]),
    ({"game": "nosuch"}, ["name the module that registers it with --import"]),
    ({"game": "hanabi"}, ["command line cannot solve it"]),
]


@pytest.mark.parametrize(("flags", "words"), REFUSED, ids=str)
def test_a_bad_value_is_refused_by_the_name_of_its_flag(flags, words):
    with pytest.raises(ValueError, match=r"\w") as caught:
        check(named_settings(**({"game": "kuhn_poker"} | flags)))
    message = in_flags(str(caught.value))
    for word in words:
        assert word in message
    assert "initial_regret=" not in message
    assert "abstraction:" not in message


def test_imperfect_recall_gets_advice_that_can_be_followed_where_it_is_read():
    with pytest.raises(ValueError, match="imperfect recall") as caught:
        ms.GameTree("liars_dice_ir").expand_all()
    library, here = str(caught.value), in_flags(str(caught.value))
    assert "mccfr_spiel.Solver the argument abstraction=" in library
    assert "abstraction=" not in here
    assert "add --allow_imperfect_recall to try it all the same" in here
    # The advice of the library, followed.
    recall = pyspiel.State.information_state_string
    ms.Solver("liars_dice_ir", abstraction=recall).iterate(1)


@pytest.mark.parametrize(
    "text",
    [
        "goofspiel(num_cards=3, players=2) has 3 iterations",
        "results/kuhn_poker_ftrl_step_size=0.5_seed0 is not empty",
        "use --max_nodes=3 or --evaluate=sampled",
        "the seed of a game, the players and their sampling",
        "RegretMatching(initial_regret=0.0)",
    ],
)
def test_what_names_no_flag_stays_as_it_is(text):
    assert in_flags(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e6", 10**6), ("2.5E3", 2500), ("1_000", 1000), ("-3", -3), ("7.0", 7)],
)
def test_whole_numbers_may_be_written_with_an_exponent(text, number):
    read = WholeNumberParser().parse(text)
    assert read == number
    assert isinstance(read, int)


@pytest.mark.parametrize(
    "text", ["1.5", "1e-1", "nan", "inf", "-inf", "", "three", "1e999999999", "1e"]
)
def test_other_numbers_are_not_whole(text):
    with pytest.raises(ValueError, match="is not a whole number"):
        WholeNumberParser().parse(text)


def test_bounds_hold_for_numbers_with_an_exponent():
    parser = WholeNumberParser(lower_bound=10)
    assert parser.parse("1e1") == 10
    with pytest.raises(ValueError, match="9"):
        parser.parse("9e0")
