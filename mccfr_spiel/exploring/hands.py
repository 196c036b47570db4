"""A game against a policy, in which the page knows what the player may know."""

import random
from collections.abc import Callable
from typing import Any

import pyspiel

from mccfr_spiel.exploring import places
from mccfr_spiel.exploring.numbers import Numbers
from mccfr_spiel.exploring.views import Namer, infoset_view, number, text
from mccfr_spiel.tree.game_tree import GameTree

_MOST_HANDS = 60


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
        is_turn = not self.state.is_terminal()
        if not is_turn or action not in places.moves_of(self.state):
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
            moves = list(odds)
            weights = [odds[one] for one in moves]
            self._play(self._generator.choices(moves, weights)[0])

    def _play(self, action: int) -> None:
        state = self.state
        player = int(state.current_player())
        known = player == self.seat or is_seen(state, action, self.seat)
        name = text(places.name_of(state, action)) if known else None
        self._log.append({"player": player, "name": name})
        state.apply_action(action)

    def view(self) -> dict[str, Any]:
        """What the user may know now; at the end everything."""
        state = self.state
        is_over = state.is_terminal()
        view: dict[str, Any] = {
            "seat": self.seat,
            "over": is_over,
            "log": self._log,
            "knows": text(known_to(state, self.seat)),
            "moves": [],
        }
        if is_over:
            view["returns"] = [number(value) for value in state.returns()]
            view["history"] = list(map(int, state.history()))
            view["text"] = text(str(state))
        else:
            view["moves"] = [
                {"action": move, "name": text(places.name_of(state, move))}
                for move in places.moves_of(state)
            ]
        return view

    def review(self, tree: GameTree, numbers: Numbers) -> dict[str, Any]:
        """What the user's moves were worth, and at the last one what every hand that
        the others may have had would have brought.

        Args:
            tree: the whole tree.
            numbers: of the policy.
        """
        game = tree.game
        history = list(map(int, self.state.history()))
        decisions = []
        for length, action in self._own:
            place = places.follow(game, tree, history[:length])
            record = tree.nodes[place.node]
            view = infoset_view(tree, numbers, int(record["infoset"]))
            moves = places.moves_of(place.state)
            view["names"] = [text(places.name_of(place.state, one)) for one in moves]
            view["chosen"] = moves.index(action)
            decisions.append(view)
        last = decisions[-1] if decisions else None
        hands = [] if last is None else self._hands(tree, numbers, last)
        return {"decisions": decisions, "hands": hands}

    def _hands(
        self, tree: GameTree, numbers: Numbers, last: dict[str, Any]
    ) -> list[dict[str, Any]]:
        found = places.histories_of(tree, last["number"], numbers.policy, _MOST_HANDS)
        total = float(found.weights.sum())
        namer = Namer(tree.game)
        rows = []
        for which, node in enumerate(found.nodes.tolist()):
            below = int(tree.nodes[node]["first_child"]) + last["chosen"]
            value = places.value_of_node(tree, below, numbers.policy)[self.seat]
            history, names = namer.read(found.moves[which])
            weight = float(found.weights[which])
            rows.append(
                {
                    "history": history,
                    "names": [text(name) for name in names],
                    "belief": weight / total if total > 0 else None,
                    "value": float(value),
                }
            )
        return rows


def is_seen(state: pyspiel.State, action: int, seat: int) -> bool:
    """Whether a player can tell a move from another one that is possible."""
    others = [move for move in places.moves_of(state) if move != action]
    if not others:
        return True
    try:
        seen = [
            state.child(move).information_state_string(seat)
            for move in (action, others[0])
        ]
    except Exception:  # games without strings at some states
        return False
    return seen[0] != seen[1]


def known_to(state: pyspiel.State, seat: int) -> str:
    """What a player knows at a state; nothing if the game does not say."""
    try:
        return state.information_state_string(seat)
    except Exception:  # games raise what they like
        return ""
