"""Frequencies, equities and EVs of a policy, hand by hand, at the decisions of a
subgame.

An EV is the return of the whole subgame plus half of the starting pot. The EVs of both
players therefore add up to that pot, less the rake.
"""

import csv
import functools
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.block_values import BlockValues
from mccfr_spiel.arenas.evaluating import read_policy
from mccfr_spiel.arenas.hand_arena import BlockArena
from mccfr_spiel.arenas.infosets.identity import same_name
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION
from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.display import line, never_raises, short
from mccfr_spiel.poker.betting import Node, append_step
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HAND_OF, HANDS, cards_of
from mccfr_spiel.poker.decision import Decision, steps_of
from mccfr_spiel.poker.runouts import frame_of, rows_by_card
from mccfr_spiel.poker.subgames import Subgame, compatible
from mccfr_spiel.poker.suits import canonical_deal, representatives
from mccfr_spiel.policies.block_policy import BlockPolicy
from mccfr_spiel.solving.reading import load_policy


class Study:
    """A policy of a subgame with the values of all hands.

    Attributes:
        game: the game.
        subgame: decoded parameters of the game.
        tree: arena of the game, with all hands.
        values: `[2, 1326]` EV of each hand; 0 for hands with probability 0.
        evs: `[2]` EVs of the players.
        best_evs: `[2]` EVs of best responses.
    """

    def __init__(self, game: pyspiel.Game | str, policy: Any) -> None:
        """Computes the values of all hands at all decisions.

        Args:
            game: a game from `subgame`, or its load string.
            policy: a policy, see `nash_conv`.

        Raises:
            ValueError: the game is not a subgame of hold'em, or the policy is not for
                this game.
        """
        self.game = load_game(game)
        decoded = getattr(self.game, "subgame", None)
        if not isinstance(decoded, Subgame):
            raise ValueError(f"{self.game} must be a game made by ms.poker.subgame.")
        self.subgame = decoded
        self.tree, self._values_of = _evaluated(self.game, policy)
        half = decoded.betting.pot / 2
        self.evs = self._values_of.returns + half
        self.best_evs = self._values_of.best + half
        self._public, self._numbering = self.tree.blocks.public, self.tree.numbering
        self._hand_of = HAND_OF[tuple(self._public.hole_cards.T)]
        self.values = self._values()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Study":
        """Opens a file that `save` wrote, a folder of results, or another saved policy.

        Raises:
            ValueError: the file is damaged, or the policy is not for a subgame.
            OSError: the file cannot be read.
        """
        policy = load_policy(path)
        return cls(policy.game, policy)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy and the string of the game into one file.

        Raises:
            OSError: the file cannot be written.
        """
        BlockPolicy(self.tree, self._values_of.table).save(path)

    @never_raises
    def __repr__(self) -> str:
        first, second = map(short, self.evs.tolist())
        return line(self, self.subgame.board_text, f"EVs {first} and {second}")

    @functools.cached_property
    def policy(self) -> np.ndarray:
        """`[S]` the policy, one number per sequence of `tree`."""
        return self.tree.policy_of(self._values_of.table)

    def _values(self) -> np.ndarray:
        """`[2, 1326]` EV of each hand at the root."""
        values, dealt = np.zeros((2, len(HANDS))), np.array(self.subgame.deals)
        num_boards = len(self.tree.blocks.boards.lists)
        row = int(self.tree.blocks.boards.node_board[0])
        for player in (0, 1):
            held, offsets = self._held(player * num_boards + row, ())
            opponent = compatible()[held] @ self.subgame.ranges[1 - player]
            value = self._values_of.at_root(player)[offsets]
            np.divide(value, opponent, out=value, where=opponent > 0)
            values[player, held] = value
        return np.where(dealt > 0, values + self.subgame.betting.pot / 2, 0.0)

    def _held(self, row: int, dealt: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The possible hands in a row of `members`, and the position of the
        representative of each.

        `dealt` are the cards dealt since the start; the row may be that of their
        representatives.
        """
        held = np.flatnonzero(self.subgame.ranges.any(axis=0))
        exchange, stabilizer = canonical_deal(self.subgame.exchanges, dealt)
        members = self._numbering.members[row]
        offsets = np.full(len(HANDS), -1)
        offsets[self._hand_of[members]] = np.arange(len(members))
        offsets = offsets[representatives(held, exchange, stabilizer)]
        return held[offsets >= 0], offsets[offsets >= 0]

    def decision(self, history: str | Sequence[int | str] = ()) -> Decision:
        """The decision at the end of a history.

        Args:
            history: actions and cards since the hands were dealt, as OpenSpiel's
                numbers or as names ("Bet 250", "Qd"); or a text with commas between
                the names ("Bet 250, Call, Qd").

        Raises:
            ValueError: nobody acts there, or an action or card is impossible.
        """
        end = self._followed(steps_of(history))
        here = self.subgame.nodes[end.position]
        if here.kind != DECISION:
            raise ValueError(
                f"Nobody acts after{end.words}. {_advice(self.subgame, end.position)}"
            )
        player, node, half = here.player, end.node, self.subgame.betting.pot / 2
        hands, offsets = self._held(self._numbering.rows[node], end.dealt)
        frequencies = self._values_of.policy_at(node)[offsets]
        # Values are weighted with the opponent's reach. Dividing by it gives EVs.
        opponent = compatible()[hands] @ end.weights[1 - player]
        values = self._values_of.actions_at(node)[offsets]
        action_evs = _quotient(values, opponent[:, None]) + half
        evs = (frequencies * action_evs).sum(axis=1)
        hand_evs = np.full((2, len(HANDS)), np.nan)
        hand_evs[player, hands] = evs
        num_boards = len(self.tree.blocks.boards.lists)
        row = self._numbering.rows[node] % num_boards + (1 - player) * num_boards
        others, places = self._held(row, end.dealt)
        values = self._values_of.values_at(node, 1 - player)[places]
        reach = compatible()[others] @ end.weights[player]
        hand_evs[1 - player, others] = _quotient(values, reach) + half
        stack = self.subgame.betting.stack
        return Decision(
            end.words.strip(),
            (*self.subgame.board, *end.dealt),
            player,
            here.words,
            hands,
            self._numbering.first[node] + offsets,
            end.weights,
            frequencies,
            action_evs,
            evs,
            hand_evs,
            self.subgame.betting.pot + sum(here.paid),
            (stack - here.paid[0], stack - here.paid[1]),
        )

    def runouts(self, history: str | Sequence[int | str]) -> Any:
        """The EVs, equities and frequencies after each card that may come next.

            study.runouts("Check, Check").sort_values("ev0")

        Args:
            history: actions and cards up to a deal, see `decision`.

        Returns:
            A pandas DataFrame with a row per card: its probability, the EV and the
            equity of each player, and the frequency of each action of the player who
            acts first.

        Raises:
            ValueError: no card is dealt at the end of the history, or all chips are in
                the pot.
            ImportError: pandas is not installed.
        """
        return frame_of(rows_by_card(self, history), "card")

    def next_deal(self, history: str | Sequence[int | str]) -> tuple[Node, list[int]]:
        """The node of the betting tree at the end of a history, and the public cards.

        Raises:
            ValueError: an action or card is impossible.
        """
        end = self._followed(steps_of(history))
        return self.subgame.nodes[end.position], [*self.subgame.board, *end.dealt]

    def words_of(self, history: str | Sequence[int | str]) -> str:
        """The text of a history, such as "Check, Bet 20"."""
        return self._followed(steps_of(history)).words.strip()

    def _followed(self, steps: Sequence[int | str]) -> "_End":
        """The nodes and reaches at the end of a history.

        Raises:
            ValueError: an action or card is impossible.
        """
        position = node = 0
        words, dealt = "", ()
        weights = self.subgame.ranges.copy()
        # An iteration follows one step in the betting tree (`position`) and in the
        # public tree (`node`), and updates the players' reaches. It ends after the last
        # step.
        for step in steps:
            here = self.subgame.nodes[position]
            if here.kind == DEAL:
                cards = cards_of(step, "card") if isinstance(step, str) else [step]
                if len(cards) != 1 or cards[0] not in range(len(DECK)):
                    raise ValueError(f"{step!r} must be a single card, e.g. Qd.")
                card, chosen = int(cards[0]), 0
                dealt = *dealt, card
                node = self._dealt(node, dealt)
                words = append_step(words, here, card)
                weights[:, np.isin(HANDS, card).any(axis=1)] = 0.0
            else:
                chosen = _action_index(here, step)
                hands, offsets = self._held(self._numbering.rows[node], dealt)
                policy = self._values_of.policy_at(node)[offsets, chosen]
                weights[here.player, hands] *= policy
                words = append_step(words, here, here.actions[chosen])
                node = int(self._public.first_child[node]) + chosen
            position = here.children[chosen]
        return _End(position, node, words, dealt, weights)

    def _dealt(self, node: int, dealt: Sequence[int]) -> int:
        """The node of a sequence of dealt cards.

        Raises:
            ValueError: the card cannot be dealt.
        """
        card = canonical_deal(self.subgame.exchanges, dealt)[0][dealt[-1]]
        first, count = self._public.first_child[node], self._public.num_children[node]
        new = self._public.board[first : first + count] & ~self._public.board[node]
        child = np.flatnonzero(new == np.uint64(1 << int(card)))
        if not len(child):
            raise ValueError(
                f"{DECK[dealt[-1]]} cannot be dealt here, because it is on the board."
            )
        return int(first + child[0])

    def decisions(self, *, all_streets: bool = False) -> Iterator[Decision]:
        """Iterates over the decisions of the first street, or of all streets and all
        cards.
        """
        stack: list[tuple[int, tuple[int | str, ...]]] = [(0, ())]
        while stack:
            position, history = stack.pop()
            here = self.subgame.nodes[position]
            if here.kind == DECISION:
                decision = self.decision(history)
                yield decision
                steps = zip(here.children, here.words, strict=True)
                stack += [(child, (*history, word)) for child, word in steps][::-1]
            elif here.kind == DEAL and all_streets:
                known = {*(DECK[card] for card in self.subgame.board), *history}
                cards = [card for card in reversed(DECK) if card not in known]
                stack += [(here.children[0], (*history, card)) for card in cards]

    def write_csv(
        self, path: str | os.PathLike[str], *, all_streets: bool = False
    ) -> None:
        """Writes a table with a line per decision, hand and action.

        Columns: history, player, hand, weight (range times own actions), equity, EV, EV
        as a share of equity times pot, action, frequency of the action, EV of the
        action.

        Args:
            path: path of the file.
            all_streets: whether to write the decisions of all streets, not of the first
                only.

        Raises:
            OSError: the file cannot be written.
        """
        pot = self.subgame.betting.pot

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(COLUMNS)
            for decision in self.decisions(all_streets=all_streets):
                rows.writerows(_lines(decision, pot))
            text.detach()

        write_file(path, write)


class _End(NamedTuple):
    """The end of a history of a subgame.

    Attributes:
        position: node of the betting tree.
        node: node of the public tree.
        words: text of the history.
        dealt: cards dealt since the start.
        weights: `[2, 1326]` reach of both players with each hand.
    """

    position: int
    node: int
    words: str
    dealt: tuple[int, ...]
    weights: np.ndarray


def _quotient(values: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Values divided by the reach of the other player; NaN where it is 0."""
    result = np.full(values.shape, np.nan)
    return np.divide(values, reach, out=result, where=reach > 0)


def _lines(decision: Decision, pot: float) -> Iterator[tuple[Any, ...]]:
    """The lines of a decision in the table of `Study.write_csv`."""
    equities = decision.equities()
    shares = np.full(len(equities), np.nan)
    np.divide(decision.evs, equities * pot, out=shares, where=equities > 0)
    weights = decision.weights[decision.player, decision.hands]
    hands = np.stack((weights, equities, decision.evs, shares), axis=1).tolist()
    policies, evs = decision.frequencies.tolist(), decision.action_evs.tolist()
    for hand, row, policy, ev in zip(decision.hands, hands, policies, evs, strict=True):
        for action in zip(decision.actions, policy, ev, strict=True):
            yield decision.words, decision.player, HAND_NAMES[hand], *row, *action


COLUMNS = (
    *("before", "player", "hand", "weight", "equity", "ev", "ev_share"),
    *("action", "frequency", "action_ev"),
)
"""Columns of the table of `Study.write_csv`."""


def _advice(subgame: Subgame, position: int) -> str:
    """Advice for a history that does not end at a decision."""
    here = subgame.nodes[position]
    if here.kind == DEAL and subgame.nodes[here.children[0]].kind == DECISION:
        return "Add the next card, such as Qd, or use `runouts`."
    return "The history must end at a decision."


def _action_index(node: Node, action: int | str) -> int:
    """Index of an action, given as a number or a name.

    Raises:
        ValueError: the action is unknown, or the game is over.
    """
    if not node.words:
        raise ValueError(
            f"{action!r} follows the end of the game. Shorten the history."
        )
    choices: list[int | str] = [
        *(node.words if isinstance(action, str) else node.actions)
    ]
    if action not in choices:
        raise ValueError(
            f"Unknown action {action!r}, expected one of {', '.join(node.words)}."
        )
    return choices.index(action)


def values(game: pyspiel.Game | str, policy: Any) -> np.ndarray:
    """`[2, 1326]` EV of each player's hands under a policy.

    An EV is the return plus half of the pot, so the EVs of both players add up to the
    pot, less the rake. It is 0 for hands with probability 0. See `Study` for arguments
    and errors.
    """
    return Study(game, policy).values


def _evaluated(game: pyspiel.Game, policy: Any) -> tuple[BlockArena, BlockValues]:
    """The arena of a policy, and the values of the policy."""
    if isinstance(policy, BlockPolicy) and same_name(policy.tree.game, game):
        return policy.tree, BlockValues(policy.tree, policy.weights)
    tree, vector = read_policy(game, policy, None, store="blocks")
    return tree, BlockValues(tree, tree.table_of(vector))
