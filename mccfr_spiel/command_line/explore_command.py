"""The command `explore`: a page in the browser, or in a file, that shows policies."""

import pathlib
from collections.abc import Sequence
from typing import Any

from absl import flags

from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.tree_files import load_tree
from mccfr_spiel.command_line.play_command import given_game
from mccfr_spiel.command_line.program_flags import import_given
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common.game_files import is_game_file
from mccfr_spiel.experiments.importing import import_object
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.exploring.exporting import (
    export,
)
from mccfr_spiel.exploring.opening import Explorer, explore
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.solving.reading import load_policy

EXPLORE_FLAGS = (
    Setting(
        "port",
        int,
        0,
        "Port of the page on this machine; 0 selects a free port.",
        least=0,
    ),
    Setting(
        "export",
        str,
        None,
        "Write the page into this file, which needs no server, and exit. For games of "
        "up to 20,000 nodes.",
    ),
    Setting(
        "tree",
        str,
        None,
        "Folder with the whole tree of the game, written by ms.save_tree. A game with "
        "more than a million nodes needs its tree to show values.",
    ),
)


def run_explore(values: flags.FlagValues, words: Sequence[str]) -> int:
    """Serves the page until Ctrl-C, or exports it; returns the exit code."""
    if not words:
        raise ValueError(
            "A folder of results or the file of a policy is required. Example: "
            "mccfr-spiel explore results/leduc_poker_external_sampling_seed0"
        )
    import_given()
    game: Any = given_game(values)
    paths = [pathlib.Path(word) for word in words]
    for path in paths:
        if is_game_file(str(path)):
            raise ValueError(
                f"{path} is the file of a game, not of a policy. Solve the game first "
                f"(mccfr-spiel solve {path}), then explore the folder of results."
            )
        if not path.exists():
            raise ValueError(f"File or folder not found: {path}.")
    if values.abstraction is not None:
        if values.tree is not None:
            raise ValueError("--tree does not support --abstraction. Drop one.")
        abstraction = import_object(values.abstraction)
        source = game or str(load_policy(paths[0], abstraction=abstraction).game)
        game = GameTree(source, abstraction=abstraction)
    elif values.tree is not None:
        game = load_tree(values.tree, game)
    policies: Any = paths[0] if len(paths) == 1 else {str(path): path for path in paths}
    if values.export is not None:
        export(Subject(policies, game), values.export, show)
        show(f"The page is in {values.export}")
        return 0
    serve(explore(policies, game, port=values.port))
    return 0


def serve(page: Explorer) -> None:
    """Prints the link of a page, and serves the page until Ctrl-C."""
    with page:
        show(f"{page.subject.title}: open this private link.")
        show(f"  {page.url}")
        show("Press Ctrl-C to stop.")
        page.wait()
