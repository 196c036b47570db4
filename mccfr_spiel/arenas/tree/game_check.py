"""Plays a game at random and looks for mistakes in it.

A tree checks whatever costs no time at each node that it meets. The rest is checked
here: that copies of states are no aliases, that a history replayed gives the same
states, that every player can be asked for an information state, and that compiled rules
keep to their sizes and agree with the OpenSpiel game made of them.
"""

import functools
import math
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import (
    check_length,
    load_game,
    seen_at,
    turn_based,
)
from mccfr_spiel.arenas.rules import description
from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.rules.game import PlainRules, View
from mccfr_spiel.arenas.tree.twin_choice import known_twin
from mccfr_spiel.arenas.worlds.finding import check_independence, why_no_worlds
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.display import brief

_MOVES_OF_COPIES = 100
"""The most moves in the history that `check_copies` follows."""

_HISTORIES_OF_WORLDS = 10_000
"""The histories that are followed to check worlds, which takes a second."""


class Checked(NamedTuple):
    """What `check_game` has looked at without finding a mistake.

    Attributes:
        histories: how many were played to the end.
        states: how many states they had.
        infosets: how many different information states the acting players had.
        longest: how many moves players made in the longest history.
    """

    histories: int
    states: int
    infosets: int
    longest: int


def check_game(
    game: pyspiel.Game | str,
    *,
    histories: int = 1000,
    seconds: float = 10.0,
    seed: int = 0,
) -> Checked:
    """Plays random histories of a game and raises an error at the first mistake.

    It looks at the legal actions, chance, returns and what is declared of them; at
    information states (that they are strings, have one list of actions each, and that
    nobody forgets); at the words for moves, states and observations; at copies,
    serialized states and replayed histories. Compiled rules also run as plain Python,
    where every index is checked, and must agree. Where a game declares worlds, all
    histories of the first moves are followed, to prove that what players know in secret
    is independent given the world.

    What a player *should* know is written nowhere, so an information state that tells
    too little or too much of what others did cannot be found.

    Args:
        game: a game or its load string. Simultaneous moves become turns.
        histories: how many to play.
        seconds: the time after which no new history is begun, counted from the end of
            the first one.
        seed: of the moves, which are chosen uniformly.

    Returns:
        How much was played, by which to judge whether it was enough.

    Raises:
        GameError: a mistake; the message tells the history that led there.
        ValueError: the game cannot be loaded or is of a kind that has no tree; or a
            number is none, or out of range.
        Exception: what the game's own methods raise, with the history as a note.
    """
    check = _Check(turn_based(load_game(game)))
    histories = refusals.integer(histories, "histories", 1)
    seconds = refusals.number(seconds, "seconds", 0, math.inf)
    generator = random.Random(refusals.integer(seed, "seed"))
    until = math.inf
    played = 0
    while played < histories and time.monotonic() < until:
        check.play(generator)
        played += 1
        if played == 1:  # rules are compiled in the first history
            until = time.monotonic() + seconds
    rules = description.rules_of(check.game) or known_twin(check.game)
    if why_no_worlds(rules) == "" and rules is not None:
        check_independence(rules, _HISTORIES_OF_WORLDS)
    return Checked(played, check.states, len(check.known), check.longest)


def check_copies(game: pyspiel.Game) -> None:
    """Raises GameError if copies of a state share what moves change.

    It follows one random history. A move in a copy must leave the state as it was, and
    the same moves in a new state must show the same again.
    """
    generator, history, views = random.Random(0), [], []
    with_strings = game.get_type().provides_information_state_string
    state = game.new_initial_state()
    while len(history) < _MOVES_OF_COPIES:
        seen, moves = seen_at(state, with_strings)
        views.append(repr(seen))
        if not moves:
            break
        move = generator.choice(moves)
        try:
            state.child(move)
        except Exception:  # games raise what they like; a walk that meets it says so
            break
        if repr(seen_at(state, with_strings)[0]) != views[-1]:
            raise _alias(
                game, state, f"action {move} in a copy changes the state itself"
            )
        history.append(move)
        state.apply_action(move)
    state = game.new_initial_state()
    for number, view in enumerate(views):
        if number:
            state.apply_action(history[number - 1])
        if repr(seen_at(state, with_strings)[0]) != view:
            raise _alias(game, state, "these moves, made again, lead to another state")


def _alias(game: pyspiel.Game, state: pyspiel.State, fault: str) -> GameError:
    error = GameError(
        f"{brief(game)}: {fault}. Its states share something that moves change, such "
        "as a list of the class: make it in __init__, and copy it in clone()."
    )
    description.tell_history(error, state)
    return error


def _asked(call: Callable[[], Any]) -> Any:
    """What a game says; "" if it has no such method, which solving does not take."""
    try:
        return call()
    except RuntimeError as error:
        if "pure virtual" not in str(error):
            raise
        return ""


class _Check:
    """A check of one game, and what it has seen so far."""

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.declared: description.Declared = description.declared_by(game)
        self.has_strings = game.get_type().provides_information_state_string
        self.states = self.longest = 0
        # (player, information state) -> its actions, its past, its first history
        self.known: dict[tuple[int, str], tuple[Any, Any, list[int]]] = {}
        rules = description.rules_of(game)
        self.rules = None if rules is None else PlainRules(rules)
        # the string of compiled rules -> its key
        self.keys: dict[str, tuple[int, ...]] = {}

    def play(self, generator: random.Random) -> None:
        """Plays one history and checks every state on it."""
        state = self.game.new_initial_state()
        if self.rules is not None:
            self.rules.begin()
        pasts: list[Any] = [None] * self.declared.num_players
        views = []
        moves = 0
        move = None
        try:
            while True:
                move = None
                view = self._look(state)
                views.append(view)
                self._check_view(view, state, pasts)
                self._check_words(view, state)
                if self.rules is not None:
                    self._compare(self.rules, view, state)
                if view.player == TERMINAL:
                    break
                move = generator.choice(view.moves)
                if view.player == CHANCE_NODE:
                    move = move[0]
                else:
                    moves += 1
                    pasts[view.player] = view.told[view.player :][:1], move
                if moves > self.game.max_game_length():
                    raise GameError(
                        f"{self.declared.name} has a history of more than "
                        f"max_game_length={self.game.max_game_length()} moves."
                    )
                check_length(self.game, len(views))
                self._check_copy(state, view, move)
                state.apply_action(move)
                if self.rules is not None:
                    self.rules.apply(move)
            self._check_again(state, views)
        except Exception as error:
            description.tell_history(error, state, move)
            raise
        self.states += len(views)
        self.longest = max(self.longest, moves)

    def _look(self, state: pyspiel.State) -> View:
        """Asks a state for everything that a solver may ask for."""
        player, is_over = state.current_player(), state.is_terminal()
        name = self.declared.name
        if is_over != (player == TERMINAL) or state.is_chance_node() != (
            player == CHANCE_NODE
        ):
            raise GameError(
                f"{name} has a state where current_player() is {player!r}, but "
                f"is_terminal() is {is_over} and is_chance_node() is "
                f"{state.is_chance_node()}. The numbers of chance and of the end are "
                f"{CHANCE_NODE} and {TERMINAL}."
            )
        if is_over:
            if state.legal_actions():
                raise GameError(
                    f"{name} has a terminal state with the legal actions "
                    f"{state.legal_actions()}."
                )
            return View(int(player), (), (), description.returns_of(state))
        if player == CHANCE_NODE:
            outcomes = state.chance_outcomes()
            description.check_outcomes(name, outcomes)
            return View(int(player), tuple(map(tuple, outcomes)), (), ())
        if not 0 <= player < self.declared.num_players:
            raise description.no_such_player(self.declared, player)
        strings = ()
        if self.has_strings:
            strings = tuple(
                state.information_state_string(other)
                for other in range(self.declared.num_players)
            )
        return View(int(player), tuple(state.legal_actions()), strings, ())

    def _check_view(self, view: View, state: pyspiel.State, pasts: list[Any]) -> None:
        """Checks a state against what the game declares, and against earlier states."""
        name = self.declared.name
        if view.player == TERMINAL:
            self.declared = description.check_returns(self.declared, view.returns)
            return
        if view.player == CHANCE_NODE:
            self._check_chance(view.moves)
            return
        for player, string in enumerate(view.told):
            if not isinstance(string, str):
                raise GameError(
                    f"{name} gives player {player} the information state {string!r}, "
                    "which is no string."
                )
        string = view.told[view.player] if self.has_strings else str(state)
        description.check_actions(self.declared, view.player, string, view.moves)
        if not self.has_strings:
            return
        history = list(state.history())
        past = pasts[view.player]
        actions, its_past, before = self.known.setdefault(
            (view.player, string), (view.moves, past, history)
        )
        if actions != view.moves:
            raise GameError(
                f"{name} gives player {view.player} one information state, {string!r}, "
                f"with the legal actions {list(actions)} after the history {before}, "
                f"but {list(view.moves)} here."
            )
        if its_past != past:
            raise GameError(
                f"{name} gives player {view.player} one information state, {string!r}, "
                f"after {_told(its_past)} in the history {before}, but after "
                f"{_told(past)} here: the player forgets (imperfect recall)."
            )

    def _check_words(self, view: View, state: pyspiel.State) -> None:
        """Asks for all that tables, play and the page show of a state."""
        kind, player = self.game.get_type(), view.player
        words = {"the state": _asked(lambda: str(state))}
        for one in view.moves:
            move = one[0] if player == CHANCE_NODE else one
            told = _asked(functools.partial(state.action_to_string, player, move))
            words[f"the move {move}"] = told
        if kind.provides_observation_string and player >= 0:
            for other in range(self.declared.num_players):
                told = state.observation_string(other)
                words[f"the observation of player {other}"] = told
        for what, word in words.items():
            if not isinstance(word, str):
                raise GameError(
                    f"{self.declared.name} names {what} {word!r}, which is no string."
                )

    def _check_chance(self, outcomes: tuple[Any, ...]) -> None:
        name = self.declared.name
        description.check_probs(name, [prob for _, prob in outcomes])
        most = self.game.max_chance_outcomes()
        numbers = [outcome for outcome, _ in outcomes]
        if min(numbers) >= 0 and max(numbers) < most:
            return
        fault = (
            f"{name} has a chance node with the outcomes {min(numbers)} .. "
            f"{max(numbers)}, but declares max_chance_outcomes={most}: outcomes are "
            f"0 .. {most - 1}."
        )
        if self.rules is not None:
            raise GameError(fault)
        warnings.warn(f"{fault} Solvers do not use the number.", stacklevel=2)

    def _check_copy(self, state: pyspiel.State, view: View, move: int) -> None:
        """Checks that a copy is equal, and that moves in it leave the state alone."""
        copy = state.clone()
        self._check_same(self._look(copy), view, "A copy (clone()) of a state differs")
        copy.apply_action(move)
        self._check_same(
            self._look(state), view, f"Action {move} in a copy changes the state itself"
        )

    def _check_again(self, state: pyspiel.State, views: list[View]) -> None:
        """Checks that the history, replayed, gives the same states."""
        history = list(state.history())
        again = self.game.new_initial_state()
        for played, view in enumerate(views):
            if played:
                again.apply_action(history[played - 1])
            self._check_same(
                self._look(again),
                view,
                f"The first {played} moves of a history lead to another state when "
                "they are played again",
            )
        try:
            read = self.game.deserialize_state(state.serialize())
        except Exception:  # not every game can, and no solver asks for it
            return
        self._check_same(
            self._look(read), views[-1], "A state that was serialized and read differs"
        )

    def _compare(self, rules: PlainRules, view: View, state: Any) -> None:
        """Checks that a state of a game of compiled rules is the same in plain
        Python."""
        other, name = rules.view(), rules.rules.description.short_name
        for what, compiled, plain in (
            ("the state vector", state.vector.tolist(), rules.state.tolist()),
            ("who acts", view.player, other.player),
            ("the legal actions", view.moves, other.moves),
            ("the returns", view.returns, other.returns),
        ):
            if compiled != plain:
                raise GameError(
                    f"{name}: {what} is {compiled} as compiled, but {plain} in plain "
                    "Python: the rules read what they did not write, or use numbers "
                    "that do not fit."
                )
        sizes = rules.rules.sizes.key
        for player, key in enumerate(other.told):
            if any(not 0 <= k < size for k, size in zip(key, sizes, strict=False)):
                raise GameError(
                    f"{name}: info_key gives player {player} the key {list(key)}, "
                    f"which exceeds Sizes.key = {sizes}."
                )
            string = rules.rules.info_state(player, np.array(key, np.int64))
            if self.keys.setdefault(string, key) != key:
                raise GameError(
                    f"{name}: Words.info_state gives the keys {list(key)} and "
                    f"{list(self.keys[string])} of player {player} one string, "
                    f"{string!r}."
                )

    def _check_same(self, view: View, expected: View, what: str) -> None:
        for field, new, old in zip(View._fields, view, expected, strict=True):
            if new != old:
                raise GameError(
                    f"{self.declared.name}: {what}: {field} {new!r}, not {old!r}."
                )


def _told(past: Any) -> str:
    if past is None:
        return "no own move"
    (string,), action = past
    return f"action {action} at {string!r}"
