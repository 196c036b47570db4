"""check_game: plays a game at random and reports mistakes in its implementation.

The expansion of a tree checks each node too, but only what costs little time.
`check_game` also checks that copies of states are independent, that replayed histories
lead to equal states, and that every player has an information state. If the game has
compiled rules, it runs the same functions as plain Python, where an index out of range
raises an error, and compares the states with those of the compiled game.
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

from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.infosets.string_checks import check_length
from mccfr_spiel.arenas.rules.bound_rules import rules_of
from mccfr_spiel.arenas.rules.declarations import Declared, GameError, declared_by
from mccfr_spiel.arenas.rules.plain_rules import PlainRules, View
from mccfr_spiel.arenas.rules.state_checks import (
    check_actions,
    check_outcomes,
    check_probs,
    check_returns,
    no_such_player,
    returns_of,
    tell_history,
)
from mccfr_spiel.arenas.tree.twin_choice import known_twin
from mccfr_spiel.arenas.worlds.finding import why_no_worlds
from mccfr_spiel.arenas.worlds.independence import check_independence
from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL

_HISTORIES_OF_WORLDS = 10_000
"""Maximum number of histories for checking declared worlds, which takes about a second.
"""


class Checked(NamedTuple):
    """The extent of a check that found no mistake.

    Attributes:
        histories: number of histories played to the end.
        states: number of states visited.
        infosets: number of distinct information states of acting players.
        longest: number of players' moves in the longest history.
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

    The checks cover:

    - legal actions, chance outcomes and returns: they must agree with the numbers that
      the game declares;
    - information states: strings, with equal legal actions wherever a string occurs,
      and with perfect recall;
    - names of moves, states and observations: strings;
    - copies, serialized states and replayed histories: equal to the original states;
    - compiled rules: plain Python, which checks every index, must give equal states;
    - declared worlds (see arenas/worlds/): given the world, the private information of
      the players must be independent. All histories of the first moves are followed.

    An information state that reveals too much or too little to a player cannot be
    detected, because a game does not declare what a player should know.

    Args:
        game: game or load string. A game with simultaneous moves is converted to its
            turn-based form.
        histories: maximum number of histories to play.
        seconds: number of seconds after the first history in which new histories may
            begin.
        seed: seed of the moves, which are uniformly random.

    Returns:
        The extent of the check.

    Raises:
        GameError: the check found a mistake; the message includes the history.
        ValueError: the game cannot be loaded or has no tree; or an argument is invalid.
        Exception: any exception of the game's own methods, with the history as a note.
    """
    check = _Check(turn_based(load_game(game)))
    histories = refusals.integer(histories, "histories", 1)
    seconds = refusals.number(seconds, "seconds", 0, math.inf)
    generator = random.Random(refusals.integer(seed, "seed"))
    end = math.inf
    played = 0
    while played < histories and time.monotonic() < end:
        check.play(generator)
        played += 1
        if played == 1:  # the first history includes the time for compilation
            end = time.monotonic() + seconds
    rules = rules_of(check.game) or known_twin(check.game)
    if why_no_worlds(rules) == "" and rules is not None:
        check_independence(rules, _HISTORIES_OF_WORLDS)
    return Checked(played, check.states, len(check.known), check.longest)


def _asked(call: Callable[[], Any]) -> Any:
    """The result of an optional method of a game; an empty string if the game does not
    implement the method.

    Args:
        call: function without arguments that calls the method.
    """
    try:
        return call()
    except RuntimeError as error:
        if "pure virtual" not in str(error):
            raise
        return ""


class _Check:
    """A check of one game, with the information states visited so far."""

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.declared: Declared = declared_by(game)
        self.has_strings = game.get_type().provides_information_state_string
        self.states = self.longest = 0
        # Key: player and information state. Value, recorded at the first visit: legal
        # actions, the player's previous information state and action, and the history.
        self.known: dict[tuple[int, str], tuple[Any, Any, list[int]]] = {}
        rules = rules_of(game)
        self.rules = None if rules is None else PlainRules(rules)
        # The information key of each information-state string of compiled rules.
        self.keys: dict[str, tuple[int, ...]] = {}

    def play(self, generator: random.Random) -> None:
        """Plays one history and checks every state on it.

        Raises:
            GameError: the check found a mistake.
        """
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
            tell_history(error, state, move)
            raise
        self.states += len(views)
        self.longest = max(self.longest, moves)

    def _look(self, state: pyspiel.State) -> View:
        """Calls every method of a state that solvers may call; returns the results.

        Raises:
            GameError: the methods about the acting player contradict each other, or
                chance outcomes or returns are malformed.
        """
        player, is_over = state.current_player(), state.is_terminal()
        name = self.declared.name
        if is_over != (player == TERMINAL) or state.is_chance_node() != (
            player == CHANCE_NODE
        ):
            raise GameError(
                f"{name} has a state where current_player() is {player!r}, but "
                f"is_terminal() is {is_over} and is_chance_node() is "
                f"{state.is_chance_node()}. current_player() must be {CHANCE_NODE} at "
                f"chance nodes and {TERMINAL} at terminal states."
            )
        if is_over:
            if state.legal_actions():
                raise GameError(
                    f"{name} has a terminal state with the legal actions "
                    f"{state.legal_actions()}; expected none."
                )
            return View(int(player), (), (), returns_of(state))
        if player == CHANCE_NODE:
            outcomes = state.chance_outcomes()
            check_outcomes(name, outcomes)
            return View(int(player), tuple(map(tuple, outcomes)), (), ())
        if not 0 <= player < self.declared.num_players:
            raise no_such_player(self.declared, player)
        strings = ()
        if self.has_strings:
            strings = tuple(
                state.information_state_string(other)
                for other in range(self.declared.num_players)
            )
        return View(int(player), tuple(state.legal_actions()), strings, ())

    def _check_view(self, view: View, state: pyspiel.State, pasts: list[Any]) -> None:
        """Checks a state against the game's declarations, and against earlier states
        with the same information state.

        Args:
            view: result of `_look` at the state.
            state: the state.
            pasts: each player's last information state and action; None before the
                player's first move.
        """
        name = self.declared.name
        if view.player == TERMINAL:
            self.declared = check_returns(self.declared, view.returns)
            return
        if view.player == CHANCE_NODE:
            self._check_chance(view.moves)
            return
        for player, string in enumerate(view.told):
            if not isinstance(string, str):
                raise GameError(
                    f"{name} gives player {player} the information state {string!r}, "
                    "which must be a string."
                )
        string = view.told[view.player] if self.has_strings else str(state)
        check_actions(self.declared, view.player, string, view.moves)
        if not self.has_strings:
            return
        history = list(state.history())
        past = pasts[view.player]
        actions, first_past, before = self.known.setdefault(
            (view.player, string), (view.moves, past, history)
        )
        if actions != view.moves:
            raise GameError(
                f"{name}: the information state {string!r} of player {view.player} has "
                f"the legal actions {list(actions)} after the history {before}, and "
                f"{list(view.moves)} here. They must be equal."
            )
        if first_past != past:
            raise GameError(
                f"{name}: the information state {string!r} of player {view.player} "
                f"follows {_in_words(first_past)} in the history {before}, and "
                f"{_in_words(past)} here: the player forgets (imperfect recall)."
            )

    def _check_words(self, view: View, state: pyspiel.State) -> None:
        """Checks the strings that describe a state to users: those of the state, of its
        moves and of the observations."""
        game_type, player = self.game.get_type(), view.player
        strings = {"the state": _asked(lambda: str(state))}
        for move in view.moves:
            action = move[0] if player == CHANCE_NODE else move
            name = _asked(functools.partial(state.action_to_string, player, action))
            strings[f"the move {action}"] = name
        if game_type.provides_observation_string and player >= 0:
            for other in range(self.declared.num_players):
                observation = state.observation_string(other)
                strings[f"the observation of player {other}"] = observation
        for subject, string in strings.items():
            if not isinstance(string, str):
                raise GameError(
                    f"{self.declared.name} names {subject} {string!r}, which must be a "
                    "string."
                )

    def _check_chance(self, outcomes: tuple[Any, ...]) -> None:
        name = self.declared.name
        check_probs(name, [prob for _, prob in outcomes])
        declared = self.game.max_chance_outcomes()
        actions = [action for action, _ in outcomes]
        if min(actions) >= 0 and max(actions) < declared:
            return
        fault = (
            f"{name} has a chance node with the outcomes {min(actions)} .. "
            f"{max(actions)}, but declares max_chance_outcomes={declared}: outcomes "
            f"must be in 0 .. {declared - 1}."
        )
        if self.rules is not None:
            raise GameError(fault)
        warnings.warn(f"{fault} Solvers do not use the number.", stacklevel=2)

    def _check_copy(self, state: pyspiel.State, view: View, move: int) -> None:
        """Checks that a copy of a state equals the original, and that a move applied to
        the copy does not change the original."""
        copy = state.clone()
        self._check_same(self._look(copy), view, "A copy (clone()) of a state differs")
        copy.apply_action(move)
        self._check_same(
            self._look(state), view, f"Action {move} in a copy changes the original"
        )

    def _check_again(self, state: pyspiel.State, views: list[View]) -> None:
        """Checks that replaying the history of a state leads through the same states,
        and that the serialized state is read back unchanged.

        Args:
            state: last state of the history.
            views: results of `_look` at all states of the history.
        """
        history = list(state.history())
        again = self.game.new_initial_state()
        for played, view in enumerate(views):
            if played:
                again.apply_action(history[played - 1])
            self._check_same(
                self._look(again),
                view,
                f"Replaying the first {played} moves of a history leads to another "
                "state",
            )
        try:
            read = self.game.deserialize_state(state.serialize())
        except Exception:  # optional: solvers do not serialize states
            return
        self._check_same(
            self._look(read), views[-1], "A state that was serialized and read differs"
        )

    def _compare(self, rules: PlainRules, view: View, state: Any) -> None:
        """Checks that a state of the compiled rules equals the state of the same rules
        in plain Python, and that different information keys have different strings.

        Args:
            rules: rules in plain Python, after the same moves.
            view: result of `_look` at the compiled state.
            state: the compiled state.
        """
        other, name = rules.view(), rules.rules.description.short_name
        for subject, compiled, plain in (
            ("the state vector", state.vector.tolist(), rules.state.tolist()),
            ("who acts", view.player, other.player),
            ("the legal actions", view.moves, other.moves),
            ("the returns", view.returns, other.returns),
        ):
            if compiled != plain:
                raise GameError(
                    f"{name}: {subject} is {compiled} as compiled, but {plain} in "
                    "plain Python: the rules read memory that they did not write, or "
                    "integers overflow."
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

    def _check_same(self, view: View, expected: View, fault: str) -> None:
        for field, new, old in zip(View._fields, view, expected, strict=True):
            if new != old:
                raise GameError(
                    f"{self.declared.name}: {fault}: {field} {new!r}, expected {old!r}."
                )


def _in_words(past: Any) -> str:
    if past is None:
        return "no own move"
    (string,), action = past
    return f"action {action} at {string!r}"
