"""Reads Gambit's extensive games (.efg, version 2).

The file lists the nodes in depth-first order, each with its information set and with an
outcome, whose payoffs are added up along the way to an end. A list of actions or of
payoffs may be left out where the same infoset or outcome is met again.
"""

import dataclasses
from fractions import Fraction

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.interchange.form import (
    FormInfoset,
    GameForm,
    Payoffs,
    distinct,
    infoset_names,
)
from mccfr_spiel.interchange.tokens import END, NUMBER, TEXT, WORD, Token, Tokens

Key = tuple[int, int]
"""An infoset in the file: the player, or CHANCE_NODE, and the infoset's number."""


@dataclasses.dataclass
class _Entry:
    """An infoset as the file describes it.

    Attributes:
        index: position in `GameForm.infosets`.
        label: the file's label, perhaps empty.
        actions: the file's action labels.
        probs: of chance's outcomes.
    """

    index: int
    label: str
    actions: list[str]
    probs: list[Fraction]


class _Reader:
    """Reads one file."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.entries: dict[Key, _Entry] = {}
        self.outcomes: dict[int, Payoffs] = {}

    def read(self) -> GameForm:
        tokens = self.tokens
        title = tokens.take(TEXT, "the game's title in double quotes").text
        names = tokens.texts("the players' names")
        if not names:
            tokens.fail("expected at least one player before this")
        tokens.skip(TEXT)  # the comment
        players = distinct(names, "Player")
        form = GameForm(title or "Untitled game", players, [])
        open_nodes = [(-1, (Fraction(0),) * len(players))]
        # Each pass reads one node, which is the next child of the last open node.
        while open_nodes:
            parent, payoffs = open_nodes.pop()
            entry = self.read_infoset(len(players))
            node = form.add_node(parent, -1 if entry is None else entry.index)
            payoffs = self.add_outcome(payoffs)
            if entry is None:
                form.payoffs[node] = payoffs
            else:
                open_nodes += [(node, payoffs)] * len(entry.actions)
        if tokens.current.kind != END:
            tokens.fail("expected the end of the file, because the tree is complete")
        form.infosets = self.infosets(players)
        return form

    def read_infoset(self, num_players: int) -> _Entry | None:
        """Reads a node up to its outcome; returns None for an end."""
        tokens = self.tokens
        kind = tokens.take(WORD, "a node, which begins with c, p or t")
        if kind.text not in ("c", "p", "t"):
            tokens.fail("expected a node, which begins with c, p or t", kind)
        tokens.take(TEXT, "the node's label in double quotes")
        if kind.text == "t":
            return None
        player = CHANCE_NODE
        if kind.text == "p":
            token = tokens.current
            player = tokens.whole("the player's number") - 1
            if not 0 <= player < num_players:
                tokens.fail(f"expected a player from 1 to {num_players}", token)
        token = tokens.current
        number = tokens.whole("the number of an information set")
        label = tokens.take(TEXT, "").text if tokens.current.kind == TEXT else ""
        known = self.entries.get((player, number))
        if tokens.current.kind == "{":
            entry = self.read_actions(player, label)
            if known is None:
                self.entries[player, number] = known = entry
            elif (entry.actions, entry.probs) != (known.actions, known.probs):
                tokens.fail(
                    f"expected the actions {known.actions}, which this information set "
                    "had before",
                    token,
                )
        elif known is None:
            tokens.fail("expected a list of actions for this information set")
        return known

    def read_actions(self, player: int, label: str) -> _Entry:
        """Reads the actions of an infoset, and the probabilities of chance."""
        tokens, actions, probs = self.tokens, [], []
        start = tokens.take("{", "'{' before the actions")
        while not tokens.skip("}"):
            actions.append(tokens.take(TEXT, "an action's label or '}'").text)
            if player == CHANCE_NODE:
                probs.append(self.read_probability())
                tokens.skip(",")
        if not actions:
            tokens.fail("expected at least one action", start)
        if player == CHANCE_NODE and sum(probs) != 1:
            tokens.fail(
                f"expected probabilities that sum to 1, found {float(sum(probs)):.12g} "
                "(fractions such as 1/3 are exact)",
                start,
            )
        return _Entry(len(self.entries), label, actions, probs)

    def read_probability(self) -> Fraction:
        token = self.tokens.current
        value = self.tokens.number("a probability")
        if not 0 <= value <= 1:
            self.tokens.fail("expected a probability from 0 to 1", token)
        return value

    def add_outcome(self, payoffs: Payoffs) -> Payoffs:
        """Reads a node's outcome and adds its payoffs."""
        tokens = self.tokens
        token = tokens.current
        number = tokens.whole("the number of an outcome, 0 for none")
        is_defined = tokens.skip(TEXT)  # the label
        if is_defined or tokens.current.kind == "{":
            self.define(number, self.read_payoffs(len(payoffs)), token)
        elif number == 0:
            return payoffs
        elif number not in self.outcomes:
            tokens.fail("expected an outcome with payoffs, none is known yet", token)
        if not any(payoffs):
            return self.outcomes[number]
        pairs = zip(payoffs, self.outcomes[number], strict=True)
        return tuple(before + gained for before, gained in pairs)

    def define(self, number: int, payoffs: Payoffs, token: Token) -> None:
        """Keeps the payoffs of an outcome; a second definition must agree."""
        if self.outcomes.setdefault(number, payoffs) != payoffs:
            self.tokens.fail("expected the payoffs that this outcome had before", token)

    def read_payoffs(self, count: int) -> Payoffs:
        """Reads a payoff for each player; commas may stand between them."""
        tokens, payoffs = self.tokens, []
        tokens.take("{", "'{' before payoffs")
        for player in range(count):
            payoffs.append(tokens.number(f"a payoff of player {player + 1}"))
            if tokens.skip(",") and tokens.current.kind != NUMBER:
                tokens.fail("expected a payoff after a comma")
        tokens.take("}", f"'}}' after {count} payoffs")
        return tuple(payoffs)

    def infosets(self, players: tuple[str, ...]) -> list[FormInfoset]:
        """All infosets with their names, in the order of their indices."""
        own = [
            (player, number, entry.label)
            for (player, number), entry in self.entries.items()
            if player != CHANCE_NODE
        ]
        names = iter(infoset_names(players, own))
        return [
            FormInfoset(
                player=player,
                name="" if player == CHANCE_NODE else next(names),
                actions=distinct(entry.actions, "action"),
                probs=tuple(map(float, entry.probs)),
            )
            for (player, _), entry in self.entries.items()
        ]


def read_efg(tokens: Tokens) -> GameForm:
    """Reads an extensive game, from its title on.

    Raises:
        GameFileError: the file breaks the format; the message names line and token.
    """
    return _Reader(tokens).read()
