"""Small games written as trees, for cases that no game of OpenSpiel covers.

A tree consists of `chance((probability, tree), ...)`, `move(player, info_state, tree,
...)` and `leaf(payoff of player 0, ...)`. The actions of a move are 0, 1, ... unless
`actions` lists others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyspiel


@dataclass(frozen=True)
class Tree:
    """A node; `player` may be OpenSpiel's number of chance or terminal nodes."""

    player: int
    info_state: str = ""
    actions: tuple[int, ...] = ()
    children: tuple[Tree, ...] = ()
    probs: tuple[float, ...] = ()
    returns: tuple[float, ...] = ()
    names: tuple[str, ...] = ()  # of the actions; numbers by default

    def __deepcopy__(self, memo):  # copies of a state share the tree
        return self


def leaf(*returns: float) -> Tree:
    return Tree(pyspiel.PlayerId.TERMINAL, returns=returns)


def chance(*outcomes: tuple[float, Tree]) -> Tree:
    probs, children = zip(*outcomes, strict=True)
    actions = tuple(range(len(probs)))
    return Tree(pyspiel.PlayerId.CHANCE, "", actions, children, probs)


def move(player: int, info_state: str, *children: Tree, actions=None) -> Tree:
    actions = tuple(range(len(children))) if actions is None else tuple(actions)
    return Tree(player, info_state, actions, children)


def small_game(
    root: Tree,
    num_players: int = 2,
    *,
    name: str = "small",
    num_actions: int = 10,
    max_utility: float = 1000.0,
    parameters: dict[str, Any] | None = None,
    **type_fields: Any,
) -> pyspiel.Game:
    """Makes the game of a tree.

    `parameters` are only reported by the game; the tree does not change with them.
    `type_fields` replace fields of the GameType.
    """
    fields: dict[str, Any] = {
        "short_name": name,
        "long_name": name,
        "dynamics": pyspiel.GameType.Dynamics.SEQUENTIAL,
        "chance_mode": pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        "information": pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        "utility": pyspiel.GameType.Utility.GENERAL_SUM,
        "reward_model": pyspiel.GameType.RewardModel.TERMINAL,
        "max_num_players": num_players,
        "min_num_players": num_players,
        "provides_information_state_string": True,
        "provides_information_state_tensor": False,
        "provides_observation_string": False,
        "provides_observation_tensor": False,
        "parameter_specification": {},
    }
    game_type = pyspiel.GameType(**(fields | type_fields))
    info = pyspiel.GameInfo(
        num_distinct_actions=num_actions,
        max_chance_outcomes=10,
        num_players=num_players,
        min_utility=-max(max_utility, 1000.0),
        max_utility=max_utility,
        max_game_length=20,
    )
    return _SmallGame(game_type, info, root, parameters)


class _SmallGame(pyspiel.Game):
    def __init__(self, game_type, info, root, parameters=None):
        super().__init__(game_type, info, parameters or {})
        self.root = root

    def new_initial_state(self):
        return _SmallState(self, self.root)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return _Observer()

    def __deepcopy__(self, memo):
        return self


class _Observer:
    """The observer from which C++ reads the information-state string of a state."""

    tensor = None
    dict: ClassVar = {}

    def set_from(self, state, player):
        pass

    def string_from(self, state, player):
        return state.tree.info_state


class _SmallState(pyspiel.State):
    def __init__(self, game, tree):
        super().__init__(game)
        self.tree = tree

    def current_player(self):
        return self.tree.player

    def _legal_actions(self, player):
        return list(self.tree.actions)

    def chance_outcomes(self):
        return list(zip(self.tree.actions, self.tree.probs, strict=True))

    def _apply_action(self, action):
        self.tree = self.tree.children[self.tree.actions.index(action)]

    def information_state_string(self, player=None):
        return self.tree.info_state

    def _action_to_string(self, player, action):
        names = self.tree.names
        return names[self.tree.actions.index(action)] if names else str(action)

    def is_terminal(self):
        return self.tree.player == pyspiel.PlayerId.TERMINAL

    def returns(self):
        return list(self.tree.returns)

    def __str__(self):
        return self.tree.info_state


def uneven_deal() -> pyspiel.Game:
    """A general-sum game with uneven chance nodes, of which one is below a move.

    Player 1's card has the probabilities 0.7, 0.2, 0.1 and is seen by player 1 alone.
    After player 0's third action a die with the probabilities 0.05, 0.15, 0.8 falls.
    Only player 0 sees it before moving again. A sampler that assumes uniform chance
    draws too high outcomes of the card and too low ones of the die.
    """

    def after(card: int, scale: float) -> Tree:
        def reply(action: int) -> Tree:
            payoffs = [(scale * (card - action), 0.5 + action), (-1.25, 2.0 * card)]
            return move(1, f"1: {card}, {action}", *(leaf(*p) for p in payoffs))

        def die(side: int) -> Tree:
            ends = [
                move(
                    1, f"1: {card}, 2", leaf(side - 0.5, 1.5 * a), leaf(card + a, -3.0)
                )
                for a in range(2)
            ]
            return move(0, f"0: die {side}", *ends)

        falls = chance((0.05, die(0)), (0.15, die(1)), (0.8, die(2)))
        return move(0, "0", reply(0), reply(1), falls)

    return small_game(
        chance((0.7, after(0, 1.0)), (0.2, after(1, 3.0)), (0.1, after(2, 0.75))),
        name="uneven_deal",
    )


def three_players() -> pyspiel.Game:
    """Three players, uneven chance, general sum; the last player sees one action."""

    def end(*moves: int) -> Tree:
        weights = (1.0, -2.5, 0.75, 3.0)
        total = sum(w * (m + 1) for w, m in zip(weights, moves, strict=True))
        return leaf(total, moves[0] - 0.5 * total, total * total / 8 - moves[3])

    def last(card: int, first: int, second: int) -> Tree:
        ends = [end(card, first, second, third) for third in range(2)]
        return move(2, f"2: {second}", *ends)

    def deal(card: int) -> Tree:
        seconds = [
            move(1, f"1: {card}, {first}", *(last(card, first, s) for s in range(3)))
            for first in range(2)
        ]
        return move(0, "0", *seconds, leaf(0.25, -1.0, 2.0))

    return small_game(chance((0.15, deal(0)), (0.85, deal(1))), 3, name="three_players")


OWN = {"uneven_deal": uneven_deal, "three_players": three_players}


def named(name: str) -> pyspiel.Game | str:
    """A game above by name, or else the load string itself."""
    return OWN[name]() if name in OWN else name
