"""Writes a game as an extensive game of Gambit (.efg).

Payoffs are decimals that read back to the same doubles. Every line repeats the actions
of its information set or the payoffs of its outcome, because some readers require them.
"""

import decimal
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.common.display import player_name
from mccfr_spiel.interchange.labels import clean_label, distinct
from mccfr_spiel.interchange.probabilities import exact_distribution


class EfgText(NamedTuple):
    """A game as text.

    Attributes:
        efg: content of the .efg file.
        profile: probabilities of the policy, separated by commas, in Gambit's order: by
            player, infoset and action; "" without a policy.
        correction: largest change of a chance probability; 0.0 if all probabilities
            read back to their doubles.
    """

    efg: str
    profile: str
    correction: float


class _WrittenInfoset(NamedTuple):
    """An information set.

    Attributes:
        player: acting player, counted from 0.
        number: number among the player's infosets, counted from 1.
        info_state: information-state string.
        actions: `[A]` distinct names of the actions.
    """

    player: int
    number: int
    info_state: str
    actions: tuple[str, ...]


class _WrittenNode(NamedTuple):
    """A node. Only the field of the node's type has a value.

    Attributes:
        infoset: infoset of a decision node; otherwise None.
        chance: `[A]` names and `[A]` probabilities of a chance node's outcomes;
            otherwise None.
        returns: `[P]` payoffs of a terminal node; otherwise empty.
    """

    infoset: _WrittenInfoset | None
    chance: tuple[tuple[str, ...], tuple[Fraction, ...]] | None
    returns: tuple[float, ...]


class _Collector:
    """Collects the nodes and infosets of a game in depth-first order.

    Attributes:
        string_of, names_of, policy: see `efg_of`.
        infosets: player and information-state string -> infoset, in order of first
            visit.
        counts: player -> number of infosets visited.
        probs: player and number of an infoset -> the policy's probabilities.
        correction: largest change of a chance probability so far.
    """

    def __init__(
        self,
        string_of: Callable[[pyspiel.State, int], str],
        names_of: Callable[[pyspiel.State, int, Sequence[int]], list[str]],
        policy: Any,
    ) -> None:
        self.string_of, self.names_of, self.policy = string_of, names_of, policy
        self.infosets: dict[tuple[int, str], _WrittenInfoset] = {}
        self.counts: dict[int, int] = {}
        self.probs: dict[tuple[int, int], list[float]] = {}
        self.correction = 0.0

    def nodes(self, root: pyspiel.State) -> list[_WrittenNode]:
        nodes, stack = [], [root]
        while stack:
            state = stack.pop()
            actions = _actions_at(state)
            nodes.append(self.node(state, actions))
            stack += [state.child(action) for action in reversed(actions)]
        return nodes

    def node(self, state: pyspiel.State, actions: Sequence[int]) -> _WrittenNode:
        if state.is_terminal():
            return _WrittenNode(None, None, tuple(state.returns()))
        player = state.current_player()
        if state.is_chance_node():
            names = distinct(self.names_of(state, player, actions), "outcome")
            odds = dict(state.chance_outcomes())
            distribution = exact_distribution(tuple(odds[a] for a in actions))
            self.correction = max(self.correction, distribution.correction)
            return _WrittenNode(None, (names, distribution.probs), ())
        info_state = self.string_of(state, player)
        infoset = self.infosets.get((player, info_state))
        if infoset is None:
            infoset = self.new_infoset(state, player, info_state, actions)
        return _WrittenNode(infoset, None, ())

    def new_infoset(
        self,
        state: pyspiel.State,
        player: int,
        info_state: str,
        actions: Sequence[int],
    ) -> _WrittenInfoset:
        names = distinct(self.names_of(state, player, actions), "action")
        number = self.counts[player] = self.counts.get(player, 0) + 1
        infoset = _WrittenInfoset(player, number, info_state, names)
        self.infosets[player, info_state] = infoset
        if self.policy is not None:
            odds = self.policy.action_probabilities(state, player)
            self.probs[player, number] = [float(odds.get(a, 0.0)) for a in actions]
        return infoset


def _actions_at(state: pyspiel.State) -> list[int]:
    """Legal actions, or chance outcomes in ascending order; none at terminal nodes."""
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return sorted(outcome for outcome, _ in state.chance_outcomes())
    return state.legal_actions()


def efg_of(
    game: pyspiel.Game,
    string_of: Callable[[pyspiel.State, int], str],
    names_of: Callable[[pyspiel.State, int, Sequence[int]], list[str]],
    policy: Any = None,
) -> EfgText:
    """The text of an .efg file with the whole game.

    Args:
        game: a turn-based game.
        string_of: returns the string of a player's infoset at a state.
        names_of: returns the names of actions, or of chance outcomes, at a state.
        policy: an OpenSpiel policy for the profile, or None.
    """
    collector = _Collector(string_of, names_of, policy)
    nodes = collector.nodes(game.new_initial_state())
    players = [
        player_name(game, player, "Player {}") for player in range(game.num_players())
    ]
    title = _quoted(clean_label(game.get_type().long_name))
    lines = [
        f"EFG 2 R {title} {_listed(map(_quoted, players))}",
        _quoted(_comment(collector.correction)),
        "",
        *_lines(nodes, [*collector.infosets]),
        "",
    ]
    profile = [prob for key in sorted(collector.probs) for prob in collector.probs[key]]
    return EfgText(
        "\n".join(lines), ",".join(map(_decimal, profile)), collector.correction
    )


def write_efg(path: str | os.PathLike[str], text: EfgText) -> None:
    """Writes the .efg file, and the profile as NAME_profile.csv in the same folder.

    Raises:
        OSError: a file cannot be written.
    """
    path = pathlib.Path(path)
    write_file(path, text.efg.encode())
    if text.profile:
        profile = path.with_name(f"{path.stem}_profile.csv")
        write_file(profile, f"{text.profile}\n".encode())


def _lines(
    nodes: Iterable[_WrittenNode], infosets: Sequence[tuple[int, str]]
) -> Iterator[str]:
    """One line per node.

    Args:
        nodes: nodes in depth-first order.
        infosets: player and information-state string of each infoset.
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
            outcome_list = _listed(f"{_quoted(name)} {prob}" for name, prob in pairs)
            yield f'c "" {num_chance} "" {outcome_list} 0'
        else:
            number = outcomes.setdefault(node.returns, len(outcomes) + 1)
            payoffs = ", ".join(map(_decimal, node.returns))
            yield f't "" {number} "" {{ {payoffs} }}'


def _comment(correction: float) -> str:
    comment = "Written by mccfr_spiel."
    if correction:
        comment += (
            f" Chance probabilities were corrected by up to {correction:.3g}, so that "
            "they sum to exactly 1."
        )
    return comment


def _listed(items: Iterable[str]) -> str:
    """Items in braces."""
    return f"{{ {' '.join(items)} }}"


def _quoted(text: str) -> str:
    r"""A text in double quotes, with `\"` for quotes inside.

    A backslash escapes only a quote. If a backslash precedes a quote, another backslash
    or the end of the text, a space is inserted, because readers would take the next
    character for escaped.
    """
    shown = ""
    for position, character in enumerate(text):
        shown += '\\"' if character == '"' else character
        if character == "\\" and text[position + 1 : position + 2] in ("", '"', "\\"):
            shown += " "
    return f'"{shown}"'


def _decimal(value: float) -> str:
    """The shortest decimal without an exponent that reads back to the double."""
    text = f"{decimal.Decimal(repr(float(value) + 0.0)):f}"
    return text.removesuffix(".0")
