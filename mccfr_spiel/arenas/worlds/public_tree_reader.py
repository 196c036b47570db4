"""Reads the public trees of OpenSpiel's games of cards.

The reader deals one pair of hands and follows all public actions and cards from there,
because legal actions and public cards do not depend on the hands. There are two
exceptions. Public cards must differ from the cards of the two hands, so each node is
read with hands that are possible at its board. The returns of a showdown are read with
three pairs of hands: one that player 0 wins, one that ties, and one that player 0
loses.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.worlds.hand_deals import RANKS, SUITS, read_deals
from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.arenas.worlds.public_tree import (
    DEAL,
    DECISION,
    FOLD,
    LOSES,
    SHOWDOWN,
    TIES,
    WINS,
    PublicTree,
)
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
)
from mccfr_spiel.common.display import brief

_MOST_NODES = 1_000_000
"""Largest number of public nodes; more would take minutes to read."""

_CHECKED = 40
"""Number of hands per board for which `_check` plays a showdown to test the strengths.
"""


def has_public_tree(game: pyspiel.Game) -> bool:
    """Returns whether `read_public_tree` supports this game."""
    name, players = game.get_type().short_name, game.num_players()
    return hasattr(game, "public_tree") or (name in _STRENGTHS and players == 2)


def needs_public_tree(game: pyspiel.Game) -> bool:
    """Returns whether a game is always solved on its public tree.

    This is so if the game has a method `public_tree`, or if a single chance node deals
    all pairs of hands (universal_poker with `handReaches`).
    """
    return hasattr(game, "public_tree") or (
        has_public_tree(game) and game.get_parameters().get("handReaches", "") != ""
    )


def read_public_tree(game: Any) -> PublicTree:
    """Returns the public tree of a game.

    Args:
        game: a game with a method `public_tree`, whose result is returned; or
            kuhn_poker, leduc_poker, universal_poker or python_one_card_poker for two
            players.

    Raises:
        ValueError: chance does not deal the hands as `PublicTree` requires.
        GameError: the returns of a showdown contradict the strengths of the hands.
        MemoryBudgetError: there are more than `_MOST_NODES` public nodes or boards.
    """
    if hasattr(game, "public_tree"):
        return game.public_tree()
    return _Reader(game).public_tree()


def _by_rank(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """Returns `[H]` strengths for hands of one card: the number of the card."""
    return hands[:, 0]


def _by_pair(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """Returns `[H]` strengths in Leduc poker with two suits: the rank of the hand.

    If the hand forms a pair with the public card, a constant is added that exceeds
    every rank.
    """
    ranks = hands[:, 0] // 2
    return ranks + len(hands) * np.isin(ranks, np.array(board) // 2)


def _by_five(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """Returns `[H]` poker strengths of each hand's best five cards, board included.

    With fewer than five cards, all of them count.
    """
    return strengths_with(hands, board, game.get_parameters()["numSuits"])


_STRENGTHS: dict[str, Callable[[pyspiel.Game, np.ndarray, list[int]], np.ndarray]] = {
    "kuhn_poker": _by_rank,
    "leduc_poker": _by_pair,
    "python_one_card_poker": _by_rank,
    "universal_poker": _by_five,
}
"""Names of the supported games, each with a function of (game, `[H, C]` hands, board)
that returns the `[H]` strengths of the hands.
"""


class _Node:
    """A public node that is being read.

    Attributes:
        path: actions of players and chance from the root, without the deals of hands.
        board: public cards.
        kind, player, first_child, num_children, chance, pays: see `PublicTree`.
        row: row of `PublicTree.strengths` that belongs to the board.
        text: information-state string of the acting player, split into the text before
            and the text after the hand; empty if the string cannot be split.
    """

    def __init__(self, path: list[int], board: list[int]) -> None:
        self.path, self.board = path, board
        self.kind, self.player, self.first_child, self.num_children = DECISION, 0, 0, 0
        self.chance, self.row = 1.0, 0
        self.text: list[str] = []
        self.pays = np.zeros((3, 2))


_Pairs = list[tuple[int, int]]


class _Reader:
    """A public tree that is being read.

    Attributes:
        game: the game.
        deals: deals of the hands.
        nodes: nodes read so far, parents first.
        boards: per board (sorted public cards), the row in `PublicTree.strengths`, the
            strengths, and the three pairs of hands from `_compare_hands`.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.deals = read_deals(game)
        self.nodes = [_Node([], self.deals.board)]
        self._strength = _STRENGTHS[game.get_type().short_name]
        self.boards: dict[tuple[int, ...], tuple[int, np.ndarray, _Pairs]] = {}
        self._checked: set[int] = set()

    def public_tree(self) -> PublicTree:
        """Reads all nodes depth first, and returns the tree.

        Raises:
            MemoryBudgetError: there are more than `_MOST_NODES` nodes or boards.
        """
        nodes, stack = self.nodes, [0]
        num_boards = self._num_boards()
        # Each pass of the loop reads the node on top of the stack. `_read` appends the
        # children of this node to `nodes`, and their numbers are pushed on the stack.
        # The loop ends when the stack is empty.
        while stack:
            if max(len(nodes), num_boards) > _MOST_NODES:
                raise MemoryBudgetError(
                    f"{brief(self.game)} has more than {_MOST_NODES:,} public nodes, "
                    f"since {num_boards:,} boards may be dealt. Begin on a later "
                    "street (boardCards), or use external or outcome sampling."
                )
            at = stack.pop()
            self._read(at)
            node = nodes[at]
            stack += range(node.first_child, node.first_child + node.num_children)
        boards = [sum(1 << card for card in node.board) for node in nodes]
        return PublicTree(
            hole_cards=self.deals.hands,
            weights=self.deals.weights,
            kind=np.array([node.kind for node in nodes]),
            player=np.array([node.player for node in nodes]),
            first_child=np.array([node.first_child for node in nodes]),
            num_children=np.array([node.num_children for node in nodes]),
            action=np.array([node.path[-1] if node.path else -1 for node in nodes]),
            board=np.array(boards, np.uint64),
            chance=np.array([node.chance for node in nodes]),
            strength_row=np.array([node.row for node in nodes]),
            strengths=np.array([row[1] for row in self.boards.values()], np.int32),
            pays=np.array([node.pays for node in nodes]),
            info_state=self.info_state,
            history=self.history,
        )

    def _num_boards(self) -> int:
        """Returns the number of final boards of a history in which nobody folds."""
        _, hands = self._compare_hands(self.deals.board)
        state, num_boards, count = self._state(0, hands[WINS]), 1, 0
        left = len(self.deals.deck)
        # Cards that are dealt without a decision in between form a set. The orders of n
        # cards count once, so the factor of the n-th card is divided by n.
        while not state.is_terminal():
            moves = state.legal_actions()
            if state.is_chance_node():
                count += 1
                num_boards = num_boards * left // count
                left -= 1
            else:
                count = 0
            # The second legal action is a check or a call (the first may be a fold).
            state.apply_action(moves[min(1, len(moves) - 1)])
        return num_boards

    def _state(self, at: int, hands: tuple[int, int]) -> pyspiel.State:
        """Returns the game state at a node if the players hold these two hands."""
        return replayed(self.game, (*self.deals.actions(*hands), *self.nodes[at].path))

    def _fitting(self, cards: list[int]) -> np.ndarray:
        """Returns the numbers of the hands that contain none of the given cards."""
        return np.flatnonzero(~np.isin(self.deals.hands, cards).any(axis=1))

    def _read(self, at: int) -> None:
        """Reads the node `at`, and appends its children to `nodes`."""
        node = self.nodes[at]
        key = tuple(sorted(node.board))
        if key not in self.boards:
            self.boards[key] = len(self.boards), *self._compare_hands(node.board)
        node.row, strength, hands = self.boards[key]
        state = self._state(at, hands[WINS])
        if state.is_terminal():
            node.pays[:] = [self._state(at, pair).returns() for pair in hands]
            is_fold = (node.pays[WINS] == node.pays[LOSES]).all()
            node.kind = FOLD if is_fold else SHOWDOWN
            if not is_fold and node.row not in self._checked:
                self._check(at, strength)
        elif state.is_chance_node():
            self._read_deal(at, state)
        else:
            node.player = state.current_player()
            text = state.information_state_string(node.player)
            if self._strength is _by_five:
                parts = text.split(self._private(hands[WINS][node.player]))
                node.text = parts if len(parts) == 2 else []
            self._branch(
                at, [([action], node.board) for action in state.legal_actions()]
            )

    def _compare_hands(self, board: list[int]) -> tuple[np.ndarray, _Pairs]:
        """Computes the strengths of all hands at a board, and selects three pairs.

        Returns:
            `[H]` strengths; and three pairs (hand of player 0, hand of player 1): the
                first wins for player 0, the second ties, the third loses. If no two
                hands tie, or all hands tie, another pair takes the place of the missing
                pair. Its payoffs are never used.

        Raises:
            ValueError: no two hands can be dealt together at this board.
        """
        hands = self.deals.hands
        strength = np.asarray(self._strength(self.game, hands, board))
        fits = self._fitting(board)
        pairs: dict[int, tuple[int, int]] = {}
        # Strong hands beat many other hands, so the first hands tried usually yield
        # both a pair that wins and a pair that ties.
        for hand in fits[np.argsort(-strength[fits], kind="stable")].tolist():
            others = self._fitting([*board, *hands[hand]])
            for result, matches in (
                (WINS, others[strength[others] < strength[hand]]),
                (TIES, others[strength[others] == strength[hand]]),
            ):
                if len(matches):
                    pairs.setdefault(result, (hand, int(matches[0])))
            if len(pairs) == 2:
                break
        if not pairs:
            raise ValueError(
                f"{brief(self.game)} must have enough cards for two hands."
            )
        first, second = wins = pairs.get(WINS, pairs.get(TIES, (0, 0)))
        return strength, [wins, pairs.get(TIES, wins), (second, first)]

    def _private(self, hand: int) -> str:
        """Returns the text of a private hand in universal_poker's strings."""
        suits = self.game.get_parameters().get("numSuits", 4)
        cards = sorted(self.deals.hands[hand].tolist(), reverse=True)
        names = [RANKS[card // suits] + SUITS[card % suits] for card in cards]
        return f"[Private: {''.join(names)}]"

    def _branch(self, at: int, edges: list[tuple[list[int], list[int]]]) -> None:
        """Appends the children of a node to `nodes`.

        Args:
            at: the node.
            edges: per child, the actions that lead to it, and its public cards.
        """
        node = self.nodes[at]
        node.first_child, node.num_children = len(self.nodes), len(edges)
        self.nodes += [_Node([*node.path, *edge], board) for edge, board in edges]

    def _read_deal(self, at: int, state: pyspiel.State) -> None:
        """Reads a deal of public cards, and appends a child per set of cards.

        Cards dealt one after another, without a decision in between, form a single deal
        of a set.

        Args:
            at: the node.
            state: state of the node, at the first of these cards.

        Raises:
            ValueError: the cards are not drawn uniformly.
        """
        node, count = self.nodes[at], 0
        left = [card for card in self.deals.deck if card not in node.board]
        drawn = len(left) - 2 * self.deals.hands.shape[1]
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            even = all(abs(prob * len(outcomes) - 1) < 1e-9 for _, prob in outcomes)
            if not even or len(outcomes) != drawn - count:
                raise ValueError(
                    f"store='worlds': {brief(self.game)} must draw public cards with "
                    "equal probability from the cards that nobody holds. Use "
                    "store='tree' instead."
                )
            state = state.child(outcomes[0][0])
            count += 1
        node.kind = DEAL
        drawn_sets = map(list, itertools.combinations(left, count))
        self._branch(at, [(cards, node.board + cards) for cards in drawn_sets])
        for child in self.nodes[node.first_child :]:
            child.chance = 1 / math.comb(drawn, count)

    def _check(self, at: int, strength: np.ndarray) -> None:
        """Compares the strengths of random hands with the game's returns at a showdown.

        Args:
            at: a showdown.
            strength: `[H]` strengths of the hands at its board.

        Raises:
            GameError: the game's returns contradict the strengths.
        """
        node, rng = self.nodes[at], np.random.default_rng(0)
        self._checked.add(node.row)
        fits, hands = self._fitting(node.board), self.deals.hands
        for hand in rng.choice(fits, min(_CHECKED, len(fits)), replace=False).tolist():
            other = int(rng.choice(self._fitting([*node.board, *hands[hand]])))
            result = TIES - np.sign(strength[hand] - strength[other])
            pays = self._state(at, (hand, other)).returns()
            if (node.pays[result] != pays).any():
                raise GameError(
                    f"{brief(self.game)} pays {pays} for the hands "
                    f"{hands[[hand, other]].tolist()} and the board {node.board}; "
                    f"expected {node.pays[result].tolist()} by the strengths of hands."
                )

    def info_state(self, at: int, hand: int) -> str:
        """See `PublicTree.info_state`."""
        node = self.nodes[at]
        if node.text:
            return self._private(hand).join(node.text)
        state = replayed(self.game, self.history(at, hand))
        return state.information_state_string(node.player)

    def history(self, at: int, hand: int) -> list[int]:
        """See `PublicTree.history`."""
        node = self.nodes[at]
        others = self._fitting([*node.board, *self.deals.hands[hand]])
        others = others[self.deals.weights[1 - node.player, others] > 0]
        pair = hand, int(others[0])
        return [
            *self.deals.actions(*(pair if node.player == 0 else pair[::-1])),
            *self.nodes[at].path,
        ]
