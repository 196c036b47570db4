"""Writes a game as an extensive game of Gambit (.efg).

Payoffs are decimals that read back to the same doubles. Each outcome, information set
and list of actions is written out wherever it occurs, because some readers need that.
"""

import decimal
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.common.folders import write_file
from mccfr_spiel.interchange.form import clean_label, distinct
from mccfr_spiel.interchange.probabilities import exact_distribution


class EfgText(NamedTuple):
    """A game as text.

    Attributes:
        efg: text of the .efg file.
        profile: behavior probabilities of the policy, in Gambit's order: by player,
            infoset and action, separated by commas; "" without a policy.
        correction: largest change of a chance probability; 0.0 if all read back to
            their doubles.
    """

    efg: str
    profile: str
    correction: float


class _Infoset(NamedTuple):
    """An information set.

    Attributes:
        player: the acting player, from 0.
        number: number among the player's infosets, from 1.
        info_state: the information-state string.
        actions: names of the actions, all different.
    """

    player: int
    number: int
    info_state: str
    actions: tuple[str, ...]


class _Node(NamedTuple):
    """A node; one of the three fields is filled.

    Attributes:
        infoset: where a player acts.
        chance: names and probabilities of the outcomes where chance acts.
        returns: payoffs at an end.
    """

    infoset: _Infoset | None
    chance: tuple[tuple[str, ...], tuple[Fraction, ...]] | None
    returns: tuple[float, ...]


class _Walk:
    """Collects nodes and infosets of a game in depth-first order."""

    def __init__(
        self,
        string_of: Callable[[pyspiel.State, int], str],
        names_of: Callable[[pyspiel.State, int, Sequence[int]], list[str]],
        policy: Any,
    ) -> None:
        self.string_of, self.names_of, self.policy = string_of, names_of, policy
        self.infosets: dict[tuple[int, str], _Infoset] = {}
        self.counts: dict[int, int] = {}
        self.probs: dict[tuple[int, int], list[float]] = {}
        self.correction = 0.0

    def nodes(self, state: pyspiel.State) -> list[_Node]:
        nodes, stack = [], [state]
        while stack:
            state = stack.pop()
            nodes.append(self.node(state))
            if not state.is_terminal():
                actions = state.legal_actions()
                stack += [state.child(action) for action in reversed(actions)]
        return nodes

    def node(self, state: pyspiel.State) -> _Node:
        if state.is_terminal():
            return _Node(None, None, tuple(state.returns()))
        if state.is_chance_node():
            outcomes = sorted(state.chance_outcomes())
            names = self.names_of(
                state, state.current_player(), [o for o, _ in outcomes]
            )
            found = exact_distribution(tuple(prob for _, prob in outcomes))
            self.correction = max(self.correction, found.correction)
            return _Node(None, (distinct(names, "outcome"), found.probs), ())
        player = state.current_player()
        info_state = self.string_of(state, player)
        infoset = self.infosets.get((player, info_state))
        if infoset is None:
            infoset = self.new_infoset(state, player, info_state)
        return _Node(infoset, None, ())

    def new_infoset(
        self, state: pyspiel.State, player: int, info_state: str
    ) -> _Infoset:
        actions = state.legal_actions()
        names = distinct(self.names_of(state, player, actions), "action")
        number = self.counts[player] = self.counts.get(player, 0) + 1
        infoset = _Infoset(player, number, info_state, names)
        self.infosets[player, info_state] = infoset
        if self.policy is not None:
            odds = self.policy.action_probabilities(state, player)
            self.probs[player, number] = [float(odds.get(a, 0.0)) for a in actions]
        return infoset


def efg_of(
    game: pyspiel.Game,
    string_of: Callable[[pyspiel.State, int], str],
    names_of: Callable[[pyspiel.State, int, Sequence[int]], list[str]],
    policy: Any = None,
) -> EfgText:
    """Writes a game as text.

    Args:
        game: a game whose players move one after another.
        string_of: the string that tells a player's infoset at a state.
        names_of: names of actions, or of chance's outcomes, at a state.
        policy: an OpenSpiel policy, whose probabilities are written as the profile.
    """
    walk = _Walk(string_of, names_of, policy)
    nodes = walk.nodes(game.new_initial_state())
    numbered = [f"Player {player}" for player in range(game.num_players())]
    players = getattr(game, "player_names", numbered)
    title = _quoted(clean_label(game.get_type().long_name))
    lines = [
        f"EFG 2 R {title} {_listed(map(_quoted, players))}",
        _quoted(_comment(walk.correction)),
        "",
        *_lines(nodes, [*walk.infosets]),
        "",
    ]
    profile = [prob for key in sorted(walk.probs) for prob in walk.probs[key]]
    return EfgText("\n".join(lines), ",".join(map(_decimal, profile)), walk.correction)


def write_efg(path: str | os.PathLike[str], found: EfgText) -> None:
    """Writes a game's text, and its profile as NAME_profile.csv beside it.

    Raises:
        OSError: a file cannot be written.
    """
    path = pathlib.Path(path)
    write_file(path, found.efg.encode())
    if found.profile:
        profile = path.with_name(f"{path.stem}_profile.csv")
        write_file(profile, f"{found.profile}\n".encode())


def _lines(
    nodes: Iterable[_Node], infosets: Sequence[tuple[int, str]]
) -> Iterator[str]:
    """The line of each node.

    Args:
        nodes: the nodes in depth-first order.
        infosets: player and information-state string of all infosets.
    """
    strings = [info_state for _, info_state in infosets]
    labels = dict(zip(infosets, distinct(strings, "infoset"), strict=True))
    outcomes: dict[tuple[float, ...], int] = {}
    num_chance = 0
    for node in nodes:
        if node.infoset is not None:
            player, number, info_state, actions = node.infoset
            label = _quoted(labels[player, info_state])
            names = _listed(map(_quoted, actions))
            yield f'p "" {player + 1} {number} {label} {names} 0'
        elif node.chance is not None:
            num_chance += 1
            pairs = zip(*node.chance, strict=True)
            words = _listed(f"{_quoted(name)} {prob}" for name, prob in pairs)
            yield f'c "" {num_chance} "" {words} 0'
        else:
            number = outcomes.setdefault(node.returns, len(outcomes) + 1)
            payoffs = ", ".join(map(_decimal, node.returns))
            yield f't "" {number} "" {{ {payoffs} }}'


def _comment(correction: float) -> str:
    words = "Written by mccfr_spiel."
    if correction:
        words += (
            f" Chance probabilities were corrected by up to {correction:.3g}, so that "
            "they sum to exactly 1."
        )
    return words


def _listed(words: Iterable[str]) -> str:
    """Words in braces."""
    return f"{{ {' '.join(words)} }}"


def _quoted(text: str) -> str:
    r"""A text in double quotes, with `\"` for quotes inside.

    A backslash escapes nothing but a quote. One before a quote, before another
    backslash or at the end would be misread, so a space follows it.
    """
    shown = ""
    for position, character in enumerate(text):
        shown += '\\"' if character == '"' else character
        if character == "\\" and text[position + 1 : position + 2] in ("", '"', "\\"):
            shown += " "
    return f'"{shown}"'


def _decimal(value: float) -> str:
    """The shortest decimal without an exponent that reads back to a double."""
    text = f"{decimal.Decimal(repr(float(value) + 0.0)):f}"
    return text.removesuffix(".0")
