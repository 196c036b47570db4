"""Played game."""

import random
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.exploring.positions import name_of, seen_moves
from mccfr_spiel.exploring.views import moves_view, words_known_to


class PlayedGame:
    """One game.

    Attributes:
        seat: the user's.
        state: of the game. Only what the seat knows of it goes out before the end.
        log: who made each move, and its name if the seat can tell it.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        seat: int,
        ask: Callable[[pyspiel.State], dict[int, float]],
        generator: random.Random,
    ) -> None:
        """Deals, and moves until it is the user's turn.

        Args:
            game: the turn-based game.
            seat: the user's player.
            ask: gives the others' policy at a state.
            generator: of chance and of the others' moves.

        Raises:
            ValueError: there is no such seat.
        """
        self.seat = refusals.player(seat, game.num_players(), "seat")
        self.state = game.new_initial_state()
        self._ask, self._generator = ask, generator
        self.log: list[dict[str, Any]] = []
        self._go_on()

    def move(self, action: int) -> None:
        """Plays the user's move, and the others' until it is the user's turn again.

        Raises:
            ValueError: the move is not possible now.
        """
        if action not in self.state.legal_actions():
            raise ValueError(f"The move {action} is not possible now.")
        self._play(action)
        self._go_on()

    def _go_on(self) -> None:
        state = self.state
        while not state.is_terminal() and state.current_player() != self.seat:
            if state.is_chance_node():
                odds = dict(state.chance_outcomes())
            else:
                odds = self._ask(state)
            self._play(self._generator.choices(list(odds), list(odds.values()))[0])

    def _play(self, action: int) -> None:
        player = int(self.state.current_player())
        known = player == self.seat
        if not known:
            at = self.state.legal_actions().index(action)
            known = seen_moves(self.state, self.seat)[at]
        name = name_of(self.state, action) if known else None
        self.log.append({"player": player, "name": name})
        self.state.apply_action(action)

    def view(self) -> dict[str, Any]:
        """What the user may know now; at the end everything."""
        state = self.state
        view: dict[str, Any] = {
            "seat": self.seat,
            "over": state.is_terminal(),
            "log": self.log,
            "knows": words_known_to(state, self.seat),
            "moves": moves_view(state),
        }
        if state.is_terminal():
            view["returns"], view["history"] = state.returns(), state.history()
            view["text"] = str(state)
        return view
