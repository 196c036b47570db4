"""The command `explore`: a page in the browser, or in a file."""

import pathlib
from collections.abc import Sequence
from typing import Annotated, Any

from absl import flags

from mccfr_spiel.command_line.running import imported_games
from mccfr_spiel.common.results_folder import load_string
from mccfr_spiel.evaluation.reading import load_policy
from mccfr_spiel.experiments.importing import value_of
from mccfr_spiel.exploring.opening import explore, export
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.tree.cache import cached_tree
from mccfr_spiel.tree.game_tree import GameTree


class Own:
    """The flags that only this command has.

    Attributes:
        port: The port of the loopback address; 0 stands for any that is free.
        export: Write the page into this file, which needs no server, and open none. For
            games of up to 20,000 nodes.
        cached_tree: Take the game's whole tree from the cache, where it is made first
            if need be. A game of more than a million nodes has values only with its
            tree.
    """

    port: Annotated[int, 0] = 0
    export: str | None = None
    cached_tree: bool = False


def run(values: flags.FlagValues, words: Sequence[str]) -> int:
    """Opens the page, and keeps it until Ctrl-C; returns the exit code."""
    if not words:
        raise ValueError(
            "What is to be explored? A folder of results, or a file of a policy, as "
            "in: mccfr-spiel explore results/leduc_poker_external_sampling_seed0"
        )
    imported_games()
    game: Any = None
    if values["game"].present:
        game = load_string(str(values["game"].value), values.players)
    paths = [pathlib.Path(word) for word in words]
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} is no folder of results and no file.")
    if values.abstraction is not None:
        made = value_of(values.abstraction)
        told = game or str(load_policy(paths[0], abstraction=made).game)
        game = GameTree(told, abstraction=made)
    elif values.cached_tree:
        game = cached_tree(game or str(load_policy(paths[0]).game))
    what: Any = paths[0] if len(paths) == 1 else {str(path): path for path in paths}
    if values.export is not None:
        export(
            Subject(what, game), values.export, lambda words: print(words, flush=True)
        )
        print(f"The page is in {values.export}")
        return 0
    page = explore(what, game, port=values.port)
    print(f"{page.subject.title}: open this link, which is for you alone.")
    print(f"  {page.url}")
    print("Ctrl-C ends it.", flush=True)
    try:
        page.wait()
    finally:
        page.stop()
    return 0
