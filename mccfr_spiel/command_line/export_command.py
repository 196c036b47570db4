"""The command `export`: writes a game as a Gambit file or as a drawing."""

import pathlib
from typing import Any

from absl import flags

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.command_line.program_flags import import_given
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common.display import counted
from mccfr_spiel.experiments.load_strings import load_string
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.exploring.drawing.tree_drawing import draw_tree
from mccfr_spiel.solving.reading import load_policy

_DRAWINGS = (".svg", ".pdf", ".png", ".tex")

EXPORT_FLAGS = (
    Setting(
        "policy",
        str,
        None,
        "Policy, a file or a folder of results. Its probabilities are shown in a "
        "drawing, or written into NAME_profile.csv in the folder of an .efg file.",
    ),
)


def run_export(values: flags.FlagValues, game: str, path: str) -> int:
    """Writes a game in the format that the file's suffix names; returns the exit
    code."""
    suffix = pathlib.Path(path).suffix.lower()
    if suffix not in (".efg", *_DRAWINGS):
        raise ValueError(
            f"The file {path} must end in .efg (for Gambit) or in "
            f"{', '.join(_DRAWINGS)} (a drawing)."
        )
    import_given()
    name = load_string(game, values.players)
    policy: Any = None
    if values.policy is not None:
        policy = load_policy(values.policy, name)
    if suffix in _DRAWINGS:
        draw_tree(name, policy).save(path)
        show(f"The drawing is in {path}")
        return 0
    tree = GameTree(name, max_memory=values.max_memory).expand_all()
    correction = tree.to_efg(path, policy)
    show(
        f"The game is in {path}: {counted(tree.num_nodes, 'node')}, "
        f"{counted(tree.num_infosets, 'information set')}."
    )
    if correction:
        show(f"Chance probabilities were corrected by up to {correction:.3g}.")
    return 0
