"""Frequencies, equities and EVs of a policy, hand by hand, at the decisions of a
subgame.

An EV is the return of the whole subgame plus half of the starting pot. The EVs of both
players therefore add up to that pot, less the rake.
"""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass, read_policy
from mccfr_spiel.arenas.hand_arena import HandNames
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
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving.reading import load_policy


class Study:
    """A policy of a subgame with the values of all hands.

    Attributes:
        game: the game.
        subgame: decoded parameters of the game.
        tree: arena of the game, with all hands.
        policy: `[S]` the policy.
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
        self.tree, self.policy = read_policy(self.game, policy, None, store="worlds")
        self._sequence_values, best = full_pass(self.tree).after_sequences(self.policy)
        half = decoded.betting.pot / 2
        self.evs, self.best_evs = self._sequence_values[:2] + half, best[:2] + half
        names = self.tree.infoset_names
        assert isinstance(names, HandNames)
        self._public, self._hand_infosets = names.public, names.found
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
        SequencePolicy(self.tree, self.policy).save(path)

    @never_raises
    def __repr__(self) -> str:
        first, second = map(short, self.evs.tolist())
        return line(self, self.subgame.board_text, f"EVs {first} and {second}")

    def _values(self) -> np.ndarray:
        """`[2, 1326]` EV of each hand, summed over the player's first infosets.

        Every deal meets exactly one of these.
        """
        values = np.zeros((2, len(HANDS)))
        nodes = np.flatnonzero(self._public.kind == DECISION)
        firsts = np.minimum(
            self._hand_infosets.first[nodes], self.tree.num_infosets - 1
        )
        is_first = self.tree.infosets["parent"][firsts] == self._public.player[nodes]
        for node in nodes[is_first].tolist():
            infosets, hands, shares = self._infosets(node, ())
            products = self._rows_of(infosets, self.policy)
            products *= self._rows_of(infosets, self._sequence_values)
            values[int(self._public.player[node]), hands] += (
                products.sum(axis=1) / shares
            )
        dealt = np.array(self.subgame.deals)
        conditional = np.divide(
            values, dealt, out=np.zeros_like(values), where=dealt > 0
        )
        return np.where(dealt > 0, conditional + self.subgame.betting.pot / 2, 0.0)

    def _infosets(
        self, node: int, dealt: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The infosets of a public decision.

        Args:
            node: node of the public tree.
            dealt: cards dealt since the start; the node may belong to their
                representative.

        Returns:
            The infoset of each possible hand, the hands, and the number of hands that
            share each infoset because suits can be exchanged.
        """
        held = np.flatnonzero(self.subgame.ranges.any(axis=0))
        exchange, stabilizer = canonical_deal(self.subgame.exchanges, dealt)
        members = self._hand_infosets.members[self._hand_infosets.rows[node]]
        offsets = np.full(len(HANDS), -1)
        offsets[self._hand_of[members]] = np.arange(len(members))
        offsets = offsets[representatives(held, exchange, stabilizer)]
        held, offsets = held[offsets >= 0], offsets[offsets >= 0]
        shares = np.bincount(offsets)[offsets]
        return self._hand_infosets.first[node] + offsets, held, shares

    def _rows_of(self, infosets: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """`[n, A]` the part of a vector over sequences at infosets of one decision."""
        records = self.tree.infosets[infosets]
        actions = np.arange(records["num_actions"].max(initial=0))
        return vector[records["first_sequence"][:, None] + actions]

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
                f"Nobody acts after{end.words}. The history must end at a decision."
            )
        player, dealt = here.player, end.dealt
        infosets, hands, _ = self._infosets(end.node, dealt)
        frequencies = self._rows_of(infosets, self.policy)
        # Sequence values are weighted with the reach of the opponent and of chance.
        # Dividing by this reach gives EVs.
        norms = (
            self.subgame.ranges * (compatible() @ end.weights[::-1].T).T * end.chance
        )
        action_evs = self._evs_of(end.node, dealt, norms[player])
        evs = (frequencies * action_evs).sum(axis=1)
        hand_evs = np.full((2, len(HANDS)), np.nan)
        hand_evs[player, hands] = evs
        hand_evs[1 - player] = self._opponent_evs(end, norms[1 - player])
        stack = self.subgame.betting.stack
        return Decision(
            end.words.strip(),
            (*self.subgame.board, *dealt),
            player,
            here.words,
            hands,
            infosets,
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
        words, dealt, chance = "", (), 1.0 / self.subgame.total
        weights, before = self.subgame.ranges.copy(), None
        # An iteration follows one step in the betting tree (`position`) and in the
        # public tree (`node`), and updates the players' reaches and the probability of
        # chance. It ends after the last step.
        for step in steps:
            here = self.subgame.nodes[position]
            if here.kind == DEAL:
                cards = cards_of(step, "card") if isinstance(step, str) else [step]
                if len(cards) != 1 or cards[0] not in range(len(DECK)):
                    raise ValueError(f"{step!r} must be a single card, e.g. Qd.")
                card, chosen, before = int(cards[0]), 0, None
                dealt = *dealt, card
                node = self._dealt(node, dealt)
                words = append_step(words, here, card)
                chance *= self._public.chance[node]
                weights[:, np.isin(HANDS, card).any(axis=1)] = 0.0
            else:
                chosen = _action_index(here, step)
                infosets, hands, _ = self._infosets(node, dealt)
                starts = self.tree.infosets["first_sequence"][infosets]
                weights[here.player, hands] *= self.policy[starts + chosen]
                words = append_step(words, here, here.actions[chosen])
                before = node, chosen
                node = int(self._public.first_child[node]) + chosen
            position = here.children[chosen]
        return _End(position, node, words, dealt, chance, weights, before)

    def _evs_of(self, node: int, dealt: Sequence[int], norms: np.ndarray) -> np.ndarray:
        """`[n, A]` EVs of the actions at a public decision.

        Args:
            node: node of the public tree.
            dealt: cards dealt since the start.
            norms: `[1326]` weight of the values of each hand: the hand's weight in the
                range times the reach of chance and of the other player.
        """
        infosets, hands, shares = self._infosets(node, dealt)
        unscaled = self._rows_of(infosets, self._sequence_values)
        evs = np.full(unscaled.shape, np.nan)
        norm = (norms[hands] * shares)[:, None]
        np.divide(unscaled, norm, out=evs, where=norm > 0)
        return evs + self.subgame.betting.pot / 2

    def _opponent_evs(self, end: "_End", norms: np.ndarray) -> np.ndarray:
        """`[1326]` EVs of the hands of the player who does not act at a decision.

        If this player has acted on the same street, the EVs are those of the last
        action. Otherwise this player decides after each action of the acting player,
        and the EV is the sum over these decisions.
        """
        evs = np.full(len(HANDS), np.nan)
        if end.before is not None:
            node, chosen = end.before
            _, hands, _ = self._infosets(node, end.dealt)
            if len(hands):
                evs[hands] = self._evs_of(node, end.dealt, norms)[:, chosen]
            return evs
        half = self.subgame.betting.pot / 2
        first, count = self._public.first_child[end.node], self._public.num_children
        for child in range(int(first), int(first + count[end.node])):
            infosets, hands, _ = self._infosets(child, end.dealt)
            frequencies = self._rows_of(infosets, self.policy)
            values = self._evs_of(child, end.dealt, norms) - half
            evs[hands] = np.nan_to_num(evs[hands], nan=half)
            evs[hands] += (frequencies * values).sum(axis=1)
        return evs

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
        chance: probability of the deals, divided by the total weight of the pairs of
            hands.
        weights: `[2, 1326]` reach of both players with each hand.
        before: public node and index of the last action on this street; None at the
            start of a street.
    """

    position: int
    node: int
    words: str
    dealt: tuple[int, ...]
    chance: float
    weights: np.ndarray
    before: tuple[int, int] | None


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
