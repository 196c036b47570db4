"""A game against a policy, in which the page receives only what the user's seat may
see."""

import random
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.common import refusals
from mccfr_spiel.exploring.positions import name_of, seen_moves
from mccfr_spiel.exploring.views import moves_view, words_known_to


class PlayedGame:
    """One game of the user against a policy.

    Attributes:
        seat: the user's player.
        state: the game's state. Until the end, only the seat's information leaves it.
        log: for each move the player, and the move's name if the seat can identify it.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        seat: int,
        ask: Callable[[pyspiel.State], dict[int, float]],
        generator: random.Random,
    ) -> None:
        """Plays chance and the other players until it is the user's turn.

        Args:
            game: a turn-based game.
            seat: the user's player.
            ask: function that returns the other players' action probabilities at a
                state.
            generator: source of randomness for chance and the other players.

        Raises:
            ValueError: the game has no such seat.
        """
        self.seat = refusals.player(seat, game.num_players(), "seat")
        self.state = game.new_initial_state()
        self._ask, self._generator = ask, generator
        self.log: list[dict[str, Any]] = []
        self._go_on()

    def move(self, action: int) -> None:
        """Plays the user's move, then chance and the others until the user's next turn.

        Raises:
            ValueError: the move is illegal.
        """
        if action not in self.state.legal_actions():
            raise ValueError(
                f"The move {action} is illegal: expected one of "
                f"{self.state.legal_actions()}."
            )
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
        is_seen = player == self.seat
        if not is_seen:
            index = self.state.legal_actions().index(action)
            is_seen = seen_moves(self.state, self.seat)[index]
        name = name_of(self.state, action) if is_seen else None
        self.log.append({"player": player, "name": name})
        self.state.apply_action(action)

    def view(self) -> dict[str, Any]:
        """The seat's information as JSON; after the end also the returns and the
        history."""
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
