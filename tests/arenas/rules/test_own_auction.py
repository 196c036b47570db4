"""Faults in the auction of docs/own_game.md are detected and named."""

import pathlib
import re
from typing import Any

import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel import GameError, Solver

ROOT = pathlib.Path(__file__).parents[3]
ENGINES = "cfr", "external_sampling", "outcome_sampling"


def auction_code(*changes: tuple[str, str]) -> str:
    """The example of docs/own_game.md with replacements (old, new)."""
    page = (ROOT / "docs" / "own_game.md").read_text()
    (code,) = re.findall(r"```py title=.auction\.py.\n(.*?)```", page, re.DOTALL)
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    return code


def auction(*changes: tuple[str, str]) -> pyspiel.Game:
    """The game of the example, not registered with OpenSpiel."""
    code = auction_code(*changes, ("pyspiel.register_game(_TYPE, AuctionGame)", ""))
    names: dict[str, Any] = {}
    exec(compile(code, "auction.py", "exec"), names)
    return names["AuctionGame"]()


APPENDS = "(self.values if len(self.values) < 2 else self.bids).append(action)"
MISTAKES = {
    "a bid too many": ("+ 1))", "+ 2))", "legal action 3, .* num_distinct_actions=3"),
    "chance": ("(value, 1 / 3)", "(value, 1 / 2)", "no distribution"),
    "a value forgotten": ("value {value} bid", "bid", "must be equal|one infor"),
    "a length": ("max_game_length=2", "max_game_length=1", "max_game_length=1 moves"),
    "words": ("(value, 1 / 3)", "str(value)", r"no list of pairs.*: \['0', '1', '2'\]"),
    "no return": ("return list(range", "list(range", "Is a return missing"),
    "a float": ("list(range(self.values[player] + 1))", "[0.0]", "or an int a float"),
    "no move": (APPENDS, "pass", "does not end: a history has 1,016 moves"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_check_game_finds_a_mistake_in_the_auction(mistake):
    old, new, message = MISTAKES[mistake]
    with pytest.raises((ValueError, RuntimeError), match=message) as error:
        ms.check_game(auction((old, new)))
    assert error.match("The history that led there.*: ")


def test_endless_game_is_neither_played_nor_drawn():
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
def test_every_solver_refuses_states_that_share_a_list(list_is_shared):
    for algorithm in ENGINES:
        with pytest.raises(GameError, match="must not share data that moves change"):
            Solver(auction(*SHARED[list_is_shared]), algorithm)
    game = auction(*SHARED[list_is_shared])
    with pytest.raises(GameError, match="must not share data that moves change"):
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
def test_missing_string_method_is_named(message):
    game = auction(*NO_METHOD[message])
    with pytest.raises(ValueError, match=message):
        Solver(game, ms.CFR)
    with pytest.raises(ValueError, match=message):
        ms.nash_conv(game, UniformRandomPolicy(game))


def test_missing_observer_of_a_wrapped_game_is_named():
    game = auction(("Dynamics.SEQUENTIAL", "Dynamics.SIMULTANEOUS"))
    with pytest.raises(AttributeError) as error:
        Solver(pyspiel.convert_to_turn_based(game), ms.CFR)
    assert any("Define make_py_observer" in note for note in error.value.__notes__)


def test_check_game_finds_states_that_change_when_read():
    old = "return [(value, 1 / 3) for value in range(3)]"
    new = (
        "self.asked = getattr(self, 'asked', 0) + 1\n"
        "        return [(v, (0.5, 0.25, 0.25)[(v + self.asked) % 3]) "
        "for v in range(3)]"
    )
    with pytest.raises(GameError, match=r"A copy \(clone\(\)\) of a state differs"):
        ms.check_game(auction((old, new)))
