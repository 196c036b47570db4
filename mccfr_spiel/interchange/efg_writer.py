"""Writes a game as an extensive game of Gambit (.efg).

Payoffs are decimals that read back to the same doubles. Every line repeats the actions
of its information set or the payoffs of its outcome, because some readers require them.
"""

import collections
import decimal
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pyspiel

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.common.atomic_files import write_file
from mccfr_spiel.interchange.form import FormInfoset, GameForm, Payoffs
from mccfr_spiel.interchange.labels import clean_label, distinct
from mccfr_spiel.interchange.probabilities import exact_distribution

StringOf = Callable[[pyspiel.State, int], str]
"""Returns the string of a player's infoset at a state."""

NamesOf = Callable[[pyspiel.State, int, Sequence[int]], list[str]]
"""Returns the names of a player's actions, or of chance outcomes, at a state."""


def write_efg(
    path: str | os.PathLike[str],
    game: pyspiel.Game,
    string_of: StringOf,
    names_of: NamesOf,
    policy: Any = None,
) -> float:
    """Writes a whole game, and a policy as NAME_profile.csv in the same folder.

    Args:
        path: the .efg file.
        game: a turn-based game.
        string_of, names_of: names of infosets and actions.
        policy: an OpenSpiel policy, or None.

    Returns:
        The largest change of a chance probability; 0.0 if all probabilities read back
        to their doubles.

    Raises:
        OSError: a file cannot be written.
    """
    path = pathlib.Path(path)
    form, profile = _form_of(game, string_of, names_of, policy)
    correction = max(
        (
            exact_distribution(infoset.probs).correction
            for infoset in form.infosets
            if infoset.player == CHANCE_NODE
        ),
        default=0.0,
    )
    write_file(path, "\n".join([*_lines(form, correction), ""]).encode())
    if policy is not None:
        line = ",".join(map(_decimal, profile))
        write_file(path.with_name(f"{path.stem}_profile.csv"), f"{line}\n".encode())
    return correction


def _form_of(
    game: pyspiel.Game, string_of: StringOf, names_of: NamesOf, policy: Any
) -> tuple[GameForm, list[float]]:
    """Converts a game into a form, with an infoset for each chance node.

    Returns:
        The form, with nodes in depth-first order, and the policy's probabilities by
        player, infoset and action. Without a policy, there are no probabilities.
    """
    players = range(game.num_players())
    default = [f"Player {player}" for player in players]
    names = tuple(getattr(game, "player_names", default))
    form = GameForm(clean_label(game.get_type().long_name), names, [])
    known: dict[tuple[int, str], int] = {}
    profile: list[list[float]] = [[] for _ in players]
    stack = [(-1, game.new_initial_state())]
    # A pass adds a node, and its infoset unless a node before has the same infoset.
    while stack:
        parent, state = stack.pop()
        if state.is_terminal():
            node = form.add_node(parent, -1)
            form.payoffs[node] = tuple(map(Fraction, state.returns()))
            continue
        player, index = state.current_player(), len(form.infosets)
        if state.is_chance_node():
            actions, probs = zip(*sorted(state.chance_outcomes()), strict=True)
            labels = distinct(names_of(state, player, actions), "outcome")
            form.infosets.append(FormInfoset(CHANCE_NODE, "", labels, probs))
        else:
            actions, string = state.legal_actions(), string_of(state, player)
            index = known.setdefault((player, string), index)
            if index == len(form.infosets):
                labels = distinct(names_of(state, player, actions), "action")
                form.infosets.append(FormInfoset(player, string, labels))
                if policy is not None:
                    odds = policy.action_probabilities(state)
                    profile[player] += (float(odds.get(a, 0.0)) for a in actions)
        node = form.add_node(parent, index)
        stack += [(node, state.child(action)) for action in reversed(actions)]
    return form, [prob for probs in profile for prob in probs]


def _lines(form: GameForm, correction: float) -> Iterator[str]:
    """The lines of the file."""
    yield f"EFG 2 R {_quoted(form.title)} {_listed(map(_quoted, form.players))}"
    yield _quoted(_comment(correction))
    yield ""
    strings = [infoset.name for infoset in form.infosets if infoset.player >= 0]
    labels = iter(distinct(strings, "infoset"))
    counts: collections.Counter[int] = collections.Counter()
    starts = []  # beginning of each infoset's lines, up to the list of actions
    for infoset in form.infosets:
        counts[infoset.player] += 1
        number = counts[infoset.player]
        if infoset.player == CHANCE_NODE:
            starts.append(f'c "" {number} ""')
        else:
            label = _quoted(next(labels))
            starts.append(f'p "" {infoset.player + 1} {number} {label}')
    outcomes: dict[Payoffs, int] = {}
    for node, index in enumerate(form.infoset_of):
        if index < 0:
            payoffs = form.payoffs[node]
            number = outcomes.setdefault(payoffs, len(outcomes) + 1)
            shown = ", ".join(_decimal(float(payoff)) for payoff in payoffs)
            yield f't "" {number} "" {{ {shown} }}'
            continue
        infoset = form.infosets[index]
        actions = map(_quoted, infoset.actions)
        if infoset.player == CHANCE_NODE:
            probs = exact_distribution(infoset.probs).probs
            pairs = zip(actions, probs, strict=True)
            actions = (f"{action} {prob}" for action, prob in pairs)
        yield f"{starts[index]} {_listed(actions)} 0"


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
