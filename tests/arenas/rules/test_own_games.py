"""Mistakes in a game of one's own: each is found, named, and shown with its history."""

import pathlib
import re
import warnings
from itertools import cycle
from typing import Any, cast

import open_spiel.python.games  # noqa: F401
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel import GameError, GameTree, Solver
from tests import small_games
from tests.small_games import chance, leaf, move, small_game

ROOT = pathlib.Path(__file__).parents[3]
UTILITY = pyspiel.GameType.Utility
ENGINES = "cfr", "external_sampling", "outcome_sampling"


def after_a_flip(*ends):
    """Chance flips a coin that player 0 sees; only after heads and action 1 comes what
    is to be looked at: the history [0, 1]."""
    fine = move(0, "tails", leaf(1.0, -1.0), leaf(-1.0, 1.0))
    (end,) = ends
    return chance((0.5, move(0, "heads", leaf(0.0, 0.0), end)), (0.5, fine))


def raised_by_every_door(game):
    """The errors of all that meets every node of a game."""
    uniform = UniformRandomPolicy(game)
    doors = (
        lambda: GameTree(game).expand_all(),
        lambda: Solver(game, ms.CFR).iterate(1),
        lambda: Solver(game, ms.EXTERNAL_SAMPLING).iterate(30),
        lambda: Solver(game, ms.OUTCOME_SAMPLING).iterate(30),
        lambda: ms.nash_conv(game, uniform),
        lambda: ms.exploitability(game, uniform),
        lambda: ms.expected_returns(game, uniform),
        lambda: ms.solve_lp(game),
    )
    for door in doors:
        with pytest.raises(GameError) as error:
            door()
        yield str(error.value)


# --- returns ------------------------------------------------------------------

RETURNS = {
    "sum of zero": (
        leaf(1.0, 2.0),
        {"utility": UTILITY.ZERO_SUM},
        r"add up to 0, but has the returns \[1.0, 2.0\], which add up to 3. Correct "
        r"GameType.utility \(GENERAL_SUM",
    ),
    "identical": (
        leaf(1.0, 2.0),
        {"utility": UTILITY.IDENTICAL},
        r"identical returns for all players, but has the returns \[1.0, 2.0\]",
    ),
    "too few": (leaf(1.0), {}, r"\[1.0\]: 1 of them for 2 players"),
    "above the range": (leaf(1000.5, 0.0), {}, r"declared range -1000 .. 1000"),
    "overflow": (leaf(1.7e308, -1.7e308), {}, r"at most 1e\+100.*Scale the payoffs"),
    "nan": (leaf(float("nan"), 0.0), {}, "not all finite"),
    "lists": (leaf(*cast(Any, [[1.0, 0.0]] * 2)), {}, "no list of numbers"),
}


@pytest.mark.parametrize("mistake", RETURNS)
def test_returns_that_are_not_as_declared_are_refused_where_they_are_met(mistake):
    end, declared, message = RETURNS[mistake]
    with pytest.raises(GameError, match=message) as error:
        GameTree(small_game(after_a_flip(end), **declared)).expand_all()
    assert re.search(r"The history that led there: \[0, 1\]\.$", str(error.value))


@pytest.mark.parametrize("mistake", ["sum of zero", "too few", "overflow"])
def test_no_door_lets_wrong_returns_in(mistake):
    end, declared, message = RETURNS[mistake]
    declared = {"utility": UTILITY.ZERO_SUM, **declared}
    for said in raised_by_every_door(small_game(after_a_flip(end), **declared)):
        assert re.search(message, said)
        assert "[0, 1]" in said


def test_a_constant_sum_that_is_not_told_is_that_of_the_first_returns():
    ends = leaf(7.0, 3.0), leaf(1.0, 9.0), leaf(7.0, 4.0)
    game = small_game(move(0, "0", *ends), utility=UTILITY.CONSTANT_SUM)
    with pytest.raises(GameError, match=r"add up to 10,.*\[7.0, 4.0\].*up to 11"):
        GameTree(game).expand_all()


@pytest.mark.parametrize("mistake", sorted({*RETURNS} - {"identical"}))
def test_returns_are_checked_where_games_are_only_played(mistake):
    end, declared, message = RETURNS[mistake]
    game = small_game(after_a_flip(end), **declared)
    with pytest.raises(GameError, match=message) as error:
        ms.sampled_returns(game, pyspiel.UniformRandomPolicy(game), plays=50)
    assert str(error.value).endswith("[0, 1].")


# --- actions, chance, players -------------------------------------------------

TWO = leaf(1.0, -1.0), leaf(0.0, 0.0)
ACTIONS = {
    (0, 0): r"a legal action twice: \[0, 0\]",
    (1, 0): r"legal actions that do not ascend: \[1, 0\]",
    (-1, 0): "the negative legal action -1",
    (0, 10): r"the legal action 10, but declares num_distinct_actions=10",
}


@pytest.mark.parametrize(("actions", "algorithm"), [*zip(ACTIONS, cycle(ENGINES))])
def test_actions_that_openspiel_forbids_are_refused(actions, algorithm):
    # At a last decision nothing but the list itself shows the mistake.
    game = small_game(after_a_flip(move(1, "last", *TWO, actions=actions)))
    with pytest.raises(GameError, match=ACTIONS[actions]) as error:
        Solver(game, ms.ALGORITHMS[algorithm]).iterate(50)
    assert "'last'" in str(error.value)
    assert str(error.value).endswith("[0, 1].")


def test_a_game_of_openspiel_that_lists_actions_out_of_range_is_refused():
    # OpenSpiel's mask of legal actions is then written outside of its memory.
    with pytest.raises(GameError, match=r"legal action 7, .*num_distinct_actions=2"):
        GameTree("chat_game").expand_all()


def test_an_outcome_of_chance_that_is_listed_twice_is_refused():
    twice = chance((0.5, leaf(1.0, -1.0)), (0.5, leaf(-1.0, 1.0)))
    object.__setattr__(twice, "actions", (1, 1))
    # The distribution itself has been met before, at the root.
    game = small_game(after_a_flip(twice))
    with pytest.raises(GameError, match=r"outcome twice: \[\(1, 0.5\), \(1, 0.5\)\]"):
        GameTree(game).expand_all()


SECOND_DECISION = """p "" 2 1 "" { "y" "z" } 0
t "" 2 "" { 5 -5 }
t "" 3 "" { 4 -4 }
"""
FILES = {
    "a legal action twice": ('p "" 1 1 "" { "x" "x" } 0', r"action twice: \[0, 0\]"),
    "an outcome twice": ('c "" 1 "" { "x" 1/2 "x" 1/2 } 0', r"an outcome twice"),
}


@pytest.mark.parametrize("mistake", FILES)
def test_a_file_with_two_moves_of_one_label_is_refused_by_every_solver(mistake):
    # The value is 4 with two actions, but 1 if both are the first.
    root, message = FILES[mistake]
    head = 'EFG 2 R "" { "1" "2" } ""\n'
    end = 't "" 1 "" { 1 -1 }\n'
    game = pyspiel.load_efg_game(f"{head}{root}\n{end}{SECOND_DECISION}")
    for error in raised_by_every_door(game):
        assert re.search(message, error)
    with pytest.raises(GameError, match=message):
        ms.check_game(game)


def test_a_file_with_two_labels_has_the_value_of_its_tree():
    text = 'EFG 2 R "" { "1" "2" } ""\np "" 1 1 "" { "x" "w" } 0\nt "" 1 "" { 1 -1 }\n'
    solution = ms.solve_lp(pyspiel.load_efg_game(text + SECOND_DECISION))
    assert solution.value == pytest.approx(4.0)


@pytest.mark.parametrize("player", [2, 77])
def test_a_player_who_is_not_in_the_game_is_refused(player):
    game = small_game(after_a_flip(move(player, "who", *TWO)))
    with pytest.raises(GameError, match=rf"player {player} acts.*\(0 .. 1\)") as error:
        GameTree(game).expand_all()
    assert "[0, 1]" in str(error.value)


HIDDEN = "cached_tree(game=goofspiel(num_cards=3,imp_info=True))"


def test_a_wrapper_that_hides_simultaneous_moves_is_refused_by_that_reason():
    game = pyspiel.load_game(HIDDEN)
    errors = [*raised_by_every_door(game)]
    for play in (
        ms.check_game,
        lambda it: ms.sampled_returns(it, UniformRandomPolicy(it)),
    ):
        with pytest.raises(GameError) as error:
            play(game)
        errors.append(str(error.value))
    for error in errors:
        assert "simultaneous moves (player -2 acts)" in error
        assert "The history that led there: [" in error


def test_an_outcome_beyond_the_declared_number_is_accepted_by_checks_and_solvers():
    # 11 outcomes; `small_game` declares max_chance_outcomes=10, which nothing reads.
    ends = (move(0, "a", *TWO) for _ in range(11))
    game = small_game(chance(*((1 / 11, end) for end in ends)))
    with pytest.warns(UserWarning, match=r"0 .. 10, .*max_chance_outcomes=10"):
        ms.check_game(game, histories=20)
    Solver(game, ms.OUTCOME_SAMPLING).iterate(20)


NO_LIMIT = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,stack=1200 1200,"
    "blind=50 100,firstPlayer=2 1,numSuits=4,numRanks=3,numHoleCards=1,"
    "numBoardCards=0 1,bettingAbstraction=fchpa)"
)


@pytest.mark.parametrize("store", ["tree", "worlds", "auto"])
def test_an_error_of_openspiels_game_tells_its_history_from_every_search(store):
    # OpenSpiel lists half the pot as a legal bet and then refuses it.
    with pytest.raises(pyspiel.SpielError) as error:
        Solver(NO_LIMIT, ms.CFR_PLUS, store=store).iterate(1)
    (note,) = error.value.__notes__
    assert re.search(r"The history that led there in universal_poker.*: \[\d", note)


def test_a_state_that_is_over_and_goes_on_is_refused(monkeypatch):
    state = small_games._SmallState
    game = small_game(after_a_flip(leaf(0.0, 0.0)))
    monkeypatch.setattr(state, "is_terminal", lambda self: True)
    with pytest.raises(GameError, match=r"is_terminal\(\).*player 0 acts"):
        GameTree(game).expand_all()
    monkeypatch.setattr(state, "is_terminal", lambda self: False)
    with pytest.raises(GameError, match=r"nobody acts.*not terminal"):
        GameTree(game).expand_all()


def test_an_information_state_that_is_no_string_is_refused(monkeypatch):
    game = small_game(after_a_flip(leaf(0.0, 0.0)))
    monkeypatch.setattr(
        small_games._SmallState,
        "information_state_string",
        lambda self, player=None: self.tree.info_state.encode(),
    )
    with pytest.raises(GameError, match="b'heads', which is no string"):
        GameTree(game).expand_all()


# --- errors of the game's own -------------------------------------------------


class TypoError(Exception):
    """Raised by a game's own method."""


METHODS = {
    "_legal_actions": "[0, 1]",
    "information_state_string": "[0, 1]",
    "current_player": "[0, 1]",
    "returns": "[0, 1, 0]",
    "_apply_action": "[0, 1], where action 0 was applied",
}


@pytest.mark.parametrize(("method", "algorithm"), [*zip(METHODS, cycle(ENGINES))])
def test_an_error_of_the_game_stays_what_it_is_and_tells_its_history(
    method, algorithm, monkeypatch
):
    game = small_game(after_a_flip(move(1, "bad", leaf(3.0, 4.0))))
    state = small_games._SmallState
    as_it_is = getattr(state, method)

    def breaks(self, *args):
        if self.tree.info_state == "bad" or self.tree.returns == (3.0, 4.0):
            raise TypoError("what the game says")
        return as_it_is(self, *args)

    monkeypatch.setattr(state, method, breaks)
    with pytest.raises(TypoError) as error:
        Solver(game, ms.ALGORITHMS[algorithm], seed=2).iterate(50)
    assert error.value.args == ("what the game says",)
    (note,) = error.value.__notes__
    assert note == f"The history that led there in small(): {METHODS[method]}."


# --- the documentation --------------------------------------------------------


def auction_code(*changes: tuple[str, str]) -> str:
    """The example of docs/own_game.md with (old, new) replaced."""
    page = (ROOT / "docs" / "own_game.md").read_text()
    (code,) = re.findall(r"```py title=.auction\.py.\n(.*?)```", page, re.DOTALL)
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    return code


def auction(*changes: tuple[str, str]) -> pyspiel.Game:
    """That example, not registered."""
    code = auction_code(*changes, ("pyspiel.register_game(_TYPE, AuctionGame)", ""))
    names: dict[str, Any] = {}
    exec(compile(code, "auction.py", "exec"), names)
    return names["AuctionGame"]()


APPENDS = "(self.values if len(self.values) < 2 else self.bids).append(action)"
MISTAKES = {
    "a bid too many": ("+ 1))", "+ 2))", "legal action 3, .* num_distinct_actions=3"),
    "chance": ("(value, 1 / 3)", "(value, 1 / 2)", "no distribution"),
    "a value forgotten": ("value {value} bid", "bid", "different legal|one infor"),
    "a length": ("max_game_length=2", "max_game_length=1", "max_game_length=1 moves"),
    "words": ("(value, 1 / 3)", "str(value)", r"no list of pairs.*: \['0', '1', '2'\]"),
    "no return": ("return list(range", "list(range", "Is a return missing"),
    "a float": ("list(range(self.values[player] + 1))", "[0.0]", "or an int a float"),
    "no move": (APPENDS, "pass", "does not end: a history of 1,016 moves"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_check_game_finds_a_mistake_in_the_auction(mistake):
    old, new, message = MISTAKES[mistake]
    with pytest.raises((ValueError, RuntimeError), match=message) as error:
        ms.check_game(auction((old, new)))
    assert error.match("The history that led there.*: ")


def test_a_game_that_does_not_end_is_neither_played_nor_drawn():
    game = auction((APPENDS, "pass"))
    with pytest.raises(ValueError, match="does not end"):
        ms.evaluation.duplicate_returns(game, "uniform", "uniform")
    with pytest.raises(ValueError, match="does not end"):
        ms.draw_tree(game)


SHARED = {
    "by the class": (
        (
            "class AuctionState(pyspiel.State):",
            "class AuctionState(pyspiel.State):\n    bids = []",
        ),
        ("self.values, self.bids = [], []", "self.values = []"),
    ),
    "by copies": (
        (
            "class AuctionState(pyspiel.State):",
            "class Shared(list):\n"
            "    def __deepcopy__(self, memo):\n"
            "        return self\n\n\n"
            "class AuctionState(pyspiel.State):",
        ),
        ("self.values, self.bids = [], []", "self.values, self.bids = [], Shared()"),
    ),
    "in returns alone": (
        (
            "class AuctionState(pyspiel.State):",
            "class AuctionState(pyspiel.State):\n    paid = []",
        ),
        (APPENDS, f"{APPENDS}; self.paid.append(action)"),
        ("best = max(self.bids)", "best = max(self.paid[-2:])"),
        ("self.bids[player] == best", "self.paid[player - 2] == best"),
        ("(self.values[player] - best)", "1.0"),
    ),
}


@pytest.mark.parametrize("list_is_shared", SHARED)
def test_states_that_share_a_list_are_refused_by_every_solver(list_is_shared):
    for algorithm in ENGINES:
        with pytest.raises(GameError, match="share something that moves change"):
            Solver(auction(*SHARED[list_is_shared]), algorithm)
    game = auction(*SHARED[list_is_shared])
    with pytest.raises(GameError, match="share something that moves change"):
        ms.nash_conv(game, UniformRandomPolicy(game))


STRINGS = "    def information_state_string(self, player):"
NO_METHOD = {
    r"define AuctionState.information_state_string\(player\)": (
        (STRINGS, "    def strings(self, player):"),
    ),
    r"Define AuctionGame.make_py_observer, or declare GameType.dynamics SEQUENTIAL": (
        ("Dynamics.SEQUENTIAL", "Dynamics.SIMULTANEOUS"),
    ),
}


@pytest.mark.parametrize("message", NO_METHOD)
def test_a_game_without_a_method_for_strings_is_refused_by_its_name(message):
    game = auction(*NO_METHOD[message])
    with pytest.raises(ValueError, match=message):
        Solver(game, ms.CFR)
    with pytest.raises(ValueError, match=message):
        ms.nash_conv(game, UniformRandomPolicy(game))


def test_a_wrapped_game_without_an_observer_is_told_what_it_lacks():
    game = auction(("Dynamics.SEQUENTIAL", "Dynamics.SIMULTANEOUS"))
    with pytest.raises(AttributeError) as error:
        Solver(pyspiel.convert_to_turn_based(game), ms.CFR)
    assert any("Define make_py_observer" in note for note in error.value.__notes__)


def test_check_game_finds_a_state_that_depends_on_how_often_it_was_asked():
    old = "return [(value, 1 / 3) for value in range(3)]"
    new = (
        "self.asked = getattr(self, 'asked', 0) + 1\n"
        "        return [(v, (0.5, 0.25, 0.25)[(v + self.asked) % 3]) "
        "for v in range(3)]"
    )
    with pytest.raises(GameError, match=r"A copy \(clone\(\)\) of a state differs"):
        ms.check_game(auction((old, new)))


OPENSPIELS = (
    "goofspiel(players=4,num_cards=3,returns_type=point_difference,"
    "points_order=descending)"
)


@pytest.mark.parametrize(
    "arguments", [{"twin": False}, {"twin": True}, {"store": "none"}], ids=str
)
def test_a_range_that_openspiels_own_game_declares_wrongly_is_told_and_harmless(
    arguments,
):
    """Three points in four parts: who has none loses 1.25, or less than the range."""
    assert pyspiel.load_game(OPENSPIELS).min_utility() == -1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = ms.Solver(OPENSPIELS, ms.EXTERNAL_SAMPLING, seed=1, **arguments)
        solver.iterate(20)
        found = ms.expected_returns(OPENSPIELS, solver.average_policy())
    assert sum(found) == pytest.approx(0.0, abs=1e-9)
    assert {str(one.message).partition("range -1 .. ")[2][:39] for one in caught} == {
        "4.5. That is an error of OpenSpiel's ga"
    }
