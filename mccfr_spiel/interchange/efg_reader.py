"""Reads Gambit's extensive games (.efg, version 2).

A file lists the nodes in depth-first order. Each line has a node's information set and
an outcome:

    p "" 1 1 "red card" { "raise" "fold" } 0     player 1, infoset 1, no outcome
    c "" 1 "" { "red" 1/2 "black" 1/2 } 0        chance distribution 1, no outcome
    t "" 2 "win" { 1, -1 }                       terminal node, outcome 2

The payoffs of a terminal node are the sum over all outcomes from the root to the node.
The list of actions can be omitted if an earlier node has the same infoset, and the
payoffs can be omitted if an earlier node has the same outcome.
"""

import dataclasses
from fractions import Fraction

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.interchange.form import FormInfoset, GameForm, Payoffs
from mccfr_spiel.interchange.labels import distinct, infoset_names
from mccfr_spiel.interchange.tokens import END, TEXT, WORD, Token, Tokens

Key = tuple[int, int]
"""Identifies an infoset in the file: player (or CHANCE_NODE) and number."""


@dataclasses.dataclass
class _FileInfoset:
    """An infoset in the file.

    Attributes:
        index: index into `GameForm.infosets`.
        label: label in the file, possibly empty.
        actions: `[A]` labels of the actions in the file.
        probs: `[A]` probabilities of chance outcomes; empty for players.
    """

    index: int
    label: str
    actions: list[str]
    probs: list[Fraction]


class _EfgReader:
    """Reads one file.

    Attributes:
        tokens: tokens of the file.
        entries: infosets and chance distributions read so far.
        outcomes: payoffs of the outcomes read so far, by number.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.entries: dict[Key, _FileInfoset] = {}
        self.outcomes: dict[int, Payoffs] = {}

    def read(self) -> GameForm:
        tokens = self.tokens
        title, names = tokens.title_and_players()
        tokens.skip(TEXT)  # a comment
        players = distinct(names, "Player")
        form = GameForm(title, players, [])
        # A stack with an entry per missing child: parent, and payoffs up to the parent.
        # Each pass reads one line, which is the next child of the topmost parent. The
        # tree is complete when no child is missing.
        missing = [(-1, (Fraction(0),) * len(players))]
        while missing:
            parent, payoffs = missing.pop()
            entry = self.read_infoset(len(players))
            node = form.add_node(parent, -1 if entry is None else entry.index)
            payoffs = self.add_outcome(payoffs)
            if entry is None:
                form.payoffs[node] = payoffs
            else:
                missing += [(node, payoffs)] * len(entry.actions)
        if tokens.current.kind != END:
            tokens.fail("expected the end of the file, because the tree is complete")
        form.infosets = self.infosets(players)
        return form

    def read_infoset(self, num_players: int) -> _FileInfoset | None:
        """Reads a line up to the outcome; returns None for a terminal node."""
        tokens = self.tokens
        node_type = tokens.take(WORD, "a node, which begins with c, p or t")
        if node_type.text not in ("c", "p", "t"):
            tokens.fail("expected a node, which begins with c, p or t", node_type)
        tokens.take(TEXT, "the node's label in double quotes")
        if node_type.text == "t":
            return None
        player = CHANCE_NODE
        if node_type.text == "p":
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
                expected = f"expected the actions {known.actions}"
                if known.probs:
                    expected += (
                        f" with probabilities {', '.join(map(str, known.probs))}"
                    )
                tokens.fail(f"{expected}, which this infoset had before", token)
        elif known is None:
            tokens.fail("expected a list of actions for this information set")
        return known

    def read_actions(self, player: int, label: str) -> _FileInfoset:
        """Reads a list of actions, with probabilities for chance."""
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
        return _FileInfoset(len(self.entries), label, actions, probs)

    def read_probability(self) -> Fraction:
        token = self.tokens.current
        value = self.tokens.number("a probability")
        if not 0 <= value <= 1:
            self.tokens.fail("expected a probability from 0 to 1", token)
        return value

    def add_outcome(self, payoffs: Payoffs) -> Payoffs:
        """Reads a node's outcome; returns the sum of `payoffs` and its payoffs."""
        tokens = self.tokens
        token = tokens.current
        number = tokens.whole("the number of an outcome, 0 for none")
        has_label = tokens.skip(TEXT)
        if has_label or tokens.current.kind == "{":
            self.define(number, self.read_payoffs(len(payoffs)), token)
        elif number == 0:
            return payoffs
        elif number not in self.outcomes:
            tokens.fail(
                "expected payoffs, because no earlier node has this outcome", token
            )
        if not any(payoffs):
            return self.outcomes[number]
        pairs = zip(payoffs, self.outcomes[number], strict=True)
        return tuple(before + gained for before, gained in pairs)

    def define(self, number: int, payoffs: Payoffs, token: Token) -> None:
        """Stores the payoffs of an outcome; repeated definitions must agree."""
        if self.outcomes.setdefault(number, payoffs) != payoffs:
            self.tokens.fail("expected the payoffs that this outcome had before", token)

    def read_payoffs(self, num_players: int) -> Payoffs:
        """Reads payoffs in braces."""
        self.tokens.take("{", "'{' before payoffs")
        payoffs = self.tokens.payoffs(num_players)
        self.tokens.take("}", f"'}}' after {num_players} payoffs")
        return payoffs

    def infosets(self, players: tuple[str, ...]) -> list[FormInfoset]:
        """All infosets with distinct names, in the order of their indices."""
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
    """Reads an extensive game, beginning at the title.

    Raises:
        GameFileError: the file breaks the format; the message names line and token.
    """
    return _EfgReader(tokens).read()
