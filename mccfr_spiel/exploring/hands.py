"""A game against a policy, in which the page knows what the player may know."""

import random
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.exploring import places, views
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.tree.game_tree import GameTree


class Hand:
    """One game.

    Attributes:
        seat: the user's.
        state: of the game. Only what the seat knows of it goes out before the end.
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
        if not 0 <= seat < game.num_players():
            raise ValueError(
                f"seat={seat} is none of the players 0 to {game.num_players() - 1}."
            )
        self.seat = seat
        self.state = game.new_initial_state()
        self._ask, self._generator = ask, generator
        self._log: list[dict[str, Any]] = []
        self._own: list[tuple[int, int]] = []  # the length before a move, and the move
        self._go_on()

    def move(self, action: int) -> None:
        """Plays the user's move, and the others' until it is the user's turn again.

        Raises:
            ValueError: the move is not possible now.
        """
        if action not in places.moves_of(self.state):
            raise ValueError(f"The move {action} is not possible now.")
        self._own.append((len(self.state.history()), action))
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
        known = player == self.seat or is_seen(self.state, action, self.seat)
        name = views.text(places.name_of(self.state, action)) if known else None
        self._log.append({"player": player, "name": name})
        self.state.apply_action(action)

    def view(self) -> dict[str, Any]:
        """What the user may know now; at the end everything."""
        state = self.state
        view: dict[str, Any] = {
            "seat": self.seat,
            "over": state.is_terminal(),
            "log": self._log,
            "knows": views.words_known_to(state, self.seat),
            "moves": views.moves_view(state),
        }
        if state.is_terminal():
            view["returns"] = [views.number(value) for value in state.returns()]
            view["history"] = list(map(int, state.history()))
            view["text"] = views.text(str(state))
        return view

    def review(self, tree: GameTree, numbers: Numbers) -> dict[str, Any]:
        """What the user's moves were worth, and at the last one what every hand that
        the others may have had would have brought.

        Args:
            tree: the whole tree.
            numbers: of the policy.
        """
        history = list(map(int, self.state.history()))
        decisions = []
        for length, action in self._own:
            place = places.follow(tree.game, tree, history[:length])
            infoset = int(tree.nodes[place.node]["infoset"])
            view = views.values_view(tree, numbers, infoset)
            view["names"] = [move["name"] for move in views.moves_view(place.state)]
            view["chosen"] = places.moves_of(place.state).index(action)
            decisions.append(view)
        if not decisions:
            return {"decisions": [], "hands": []}
        infoset, chosen = decisions[-1]["number"], decisions[-1]["chosen"]
        at_last = views.belief_view(tree, numbers.policy, infoset, chosen, self.seat)
        return {"decisions": decisions, "hands": at_last["rows"]}


def is_seen(state: pyspiel.State, action: int, seat: int) -> bool:
    """Whether a player can tell a move from another one that is possible."""
    other = next((move for move in places.moves_of(state) if move != action), None)
    if other is None:
        return True
    try:
        seen = [
            state.child(move).information_state_string(seat) for move in (action, other)
        ]
    except Exception:  # games without strings at some states
        return False
    return seen[0] != seen[1]
