"""Distinct, readable names for the players, actions and infosets of a file.

Gambit's labels may be empty or repeated. OpenSpiel requires distinct
information-state strings, and people need distinct names of actions.
"""

import collections
from collections.abc import Sequence

from mccfr_spiel.common.display import one_line


def clean_label(text: str) -> str:
    """Converts a text to a label that Gambit allows.

    Gambit refuses line breaks, control characters, and spaces that are repeated or at
    the ends.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return one_line(" | ".join(filter(None, lines)))


def distinct(names: Sequence[str], default: str) -> tuple[str, ...]:
    """Makes names distinct by appending numbers to repeated names: "x", "x (2)".

    Args:
        names: the names, which are cleaned by `clean_label`.
        default: replacement for empty names; the position is appended, counted from 1.
    """
    cleaned = [
        clean_label(name) or f"{default} {position}"
        for position, name in enumerate(names, 1)
    ]
    taken, results = set(cleaned), []
    counts: collections.Counter[str] = collections.Counter()
    for name in cleaned:
        counts[name] += 1
        if counts[name] > 1:
            number = counts[name]
            while f"{name} ({number})" in taken:
                number += 1
            name = f"{name} ({number})"
            taken.add(name)
        results.append(name)
    return tuple(results)


def infoset_names(
    players: Sequence[str], infosets: Sequence[tuple[int, int, str]]
) -> tuple[str, ...]:
    """The information-state strings of a file's infosets, distinct in the game.

    A label is used as it is if no other infoset has it. Other infosets are named by
    player and number, such as "Alice: infoset 2".

    Args:
        players: names of the players.
        infosets: player, number in the file, and label of each infoset.
    """
    labels = [clean_label(label) for _, _, label in infosets]
    counts = collections.Counter(labels)
    names = []
    for (player, number, _), label in zip(infosets, labels, strict=True):
        if label and counts[label] == 1:
            names.append(label)
        else:
            suffix = f" ({label})" if label else ""
            names.append(f"{players[player]}: infoset {number}{suffix}")
    return distinct(names, "infoset")
