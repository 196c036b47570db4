"""The library's messages in the words of the command line.

The library advises what can be done in Python: to give a function another argument. On
the command line the same is a flag, or cannot be done at all.
"""

import re

from mccfr_spiel.experiments.flags import COMPARISON_FLAGS, EXPERIMENT_FLAGS, KINDS
from mccfr_spiel.solving.files import GAME_WAY_OUT
from mccfr_spiel.tree.infosets import RECALL_WAY_OUT
from mccfr_spiel.tree.loading import IMPORT_WAY_OUT
from mccfr_spiel.tree.readable import STRINGS_WAY_OUT

_SENTENCES = {
    RECALL_WAY_OUT: "Use information states that remember all that the player did and "
    "saw, or add --allow_imperfect_recall to try it all the same (docs/choosing.md).",
    STRINGS_WAY_OUT: "The command line cannot solve it; in Python, mccfr_spiel.Solver "
    "can, with an abstraction that makes the strings (docs/choosing.md).",
    GAME_WAY_OUT: "A run goes on only with the game that it began with: begin anew, "
    "with --overwrite or in another --output_dir, or undo the change of the game.",
    "Use it with ms.FULL, not": "Use it with --sampling=full, not",
    "Use outcome sampling, which": "Use outcome sampling (--sampling=outcome), which",
    "another output folder": "another --output_dir",
    "the same call goes on": "the same command goes on",
    IMPORT_WAY_OUT: "name the module that registers it with --import",
}
"""Advice of the library, and what takes its place here."""

_FLAGS = (*KINDS, *EXPERIMENT_FLAGS, *COMPARISON_FLAGS)
_NAMES = "|".join(sorted(_FLAGS, key=len, reverse=True))
_LONG_NAMES = "|".join(name for name in _FLAGS if "_" in name)
_ARGUMENT = re.compile(
    r"\w\([^()]*\)"  # a game with its parameters, or a call: left as it is
    rf"|(?<![\w./(,:'-])(?:({_NAMES})(?==)|({_LONG_NAMES})\b)"
)


def in_flags(text: str) -> str:
    """A message in which `iterations=3` has become `--iterations=3`.

    Names of one word count only with a value behind them, since all of them are also
    words of English. Parameters of games and the names of files stay as they are.
    """
    for sentence, here in _SENTENCES.items():
        text = text.replace(sentence, here)

    def with_dashes(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return f"--{name}" if name else found[0]

    return _ARGUMENT.sub(with_dashes, text)
