"""The command `poker`: solves a spot of hold'em and shows the first decision."""

import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from absl import flags

from mccfr_spiel.command_line.explore_command import serve
from mccfr_spiel.command_line.program_flags import FLAGS, set_flag
from mccfr_spiel.command_line.solve_command import solve
from mccfr_spiel.command_line.terminal import Signals, show
from mccfr_spiel.common.display import counted, text_table
from mccfr_spiel.experiments.run_folders import new_folder
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.exploring.opening import explore
from mccfr_spiel.poker.made_hands import MADE, made_hands
from mccfr_spiel.poker.study import Study
from mccfr_spiel.poker.subgames import subgame

CSV = "hands.csv"
"""Name of the table of `Study.write_csv` in the folder of results."""

SHARED = (
    *("algorithm", "iterations", "until_pot_percent", "threads", "max_memory"),
    *("output_dir", "overwrite", "resume", "checkpoint_every", "quiet"),
)
"""Flags that the command shares with `solve`."""

DEFAULT_FLAGS = {"algorithm": "dcfr", "until_pot_percent": "0.5"}
"""Flags whose defaults differ from those of `solve`."""

GAMMA = "4"
"""Exponent of the average's weights if no algorithm is given. It saves about a tenth of
the iterations of the usual 2 until 0.3 % of the pot."""

POKER_FLAGS = (
    Setting("board", str, None, "Board of 3 to 5 cards, such as Ks7d4c2s9h."),
    Setting(
        "ranges",
        str,
        None,
        "Ranges of player 0 and player 1, separated by a bar: AA,KQs+,77|TT-99,KTs+.",
    ),
    Setting("pot", float, None, "Chips in the pot."),
    Setting("stacks", float, None, "Chips that each player has left."),
    Setting(
        "bets",
        str,
        "33%,75%,a",
        "Sizes of bets: 50% of the pot, pot, 120c chips, a all-in. Streets are "
        "separated by a slash.",
    ),
    Setting("raises", str, "60%,a", "Sizes of raises, such as 60%, 2.5x, a."),
    Setting("donk", str, None, "Sizes of bets into the last aggressor."),
    Setting("rake", str, None, "Share of the pot and largest rake, such as 0.05,3."),
    Setting("min_bet", float, 1.0, "Smallest bet and increment of a raise."),
    Setting("first", int, 0, "Player to act first on every street.", least=0),
    Setting("max_raises", int, None, "Largest number of raises per street.", least=0),
    Setting("explore", bool, False, "Open the page of the solution until Ctrl-C."),
)


def run_poker(values: flags.FlagValues, words: Sequence[str], signals: Signals) -> int:
    """Solves the spot of the flags; returns the exit code.

    Raises:
        ValueError: a flag is missing, or its value is wrong.
    """
    if words:
        raise ValueError(f"Unexpected argument {words[0]!r}. Use flags: --board=...")
    game = _game_of(values)
    defaults = {"game": str(game), **DEFAULT_FLAGS}
    if not FLAGS["algorithm"].present:
        defaults["gamma"] = GAMMA
    for name, text in defaults.items():
        if not FLAGS[name].present:
            set_flag(FLAGS[name], text)
    if FLAGS.output_dir is None:
        name = f"poker_{game.subgame.board_text}"
        FLAGS["output_dir"].parse(str(new_folder(name)))
    code = solve(signals)
    if code:
        return code
    folder = pathlib.Path(str(FLAGS.output_dir))
    if not FLAGS.quiet:
        show("Evaluating all hands ...")  # the first time, this compiles
    study = Study.load(folder)
    study.write_csv(folder / CSV)
    if not FLAGS.quiet:
        for text in _summary(study):
            show(text)
        show(f"All hands are in {folder / CSV}")
    if values.explore:
        serve(explore(folder))
    else:
        show(f"To see the grid of hands: mccfr-spiel explore {folder}")
    return 0


def _game_of(values: flags.FlagValues) -> Any:
    """The game of the flags."""
    for name in ("board", "ranges", "pot", "stacks"):
        if getattr(values, name) is None:
            raise ValueError(
                f"--{name} is required. Example: mccfr-spiel poker --board=Ks7d4c2s9h "
                '--ranges="AA,KQs+,77|TT-99,KTs+" --pot=100 --stacks=300'
            )
    ranges = [part.strip() for part in values.ranges.split("|")]
    if len(ranges) != 2:
        raise ValueError(
            f"--ranges={values.ranges!r} has {counted(len(ranges), 'range')}, expected "
            "2, separated by a bar: AA,KQs+|TT-99."
        )
    rake = None
    if values.rake is not None:
        try:
            rake = [float(part) for part in values.rake.split(",")]
        except ValueError as error:
            raise ValueError(
                f"--rake={values.rake!r} must be two numbers, such as 0.05,3."
            ) from error
    return subgame(
        board=values.board,
        pot=values.pot,
        stacks=values.stacks,
        ranges=ranges,
        bets=values.bets,
        raises=values.raises,
        min_bet=values.min_bet,
        first=values.first,
        rake=rake,
        donk=values.donk,
        max_raises=values.max_raises,
    )


def _summary(study: Study) -> Iterator[str]:
    """The EVs and equities, and the frequencies by made hand, at the first decision."""
    decision = study.decision()
    pairs = zip(decision.node_evs(), decision.node_equities(), strict=True)
    rows = [
        (str(p), f"{round(ev, 2) + 0.0:.2f}", f"{100 * e:.1f} %")  # 0.00, not -0.00
        for p, (ev, e) in enumerate(pairs)
    ]
    yield ""
    yield text_table(("player", "EV", "equity"), rows, {1, 2})
    yield ""
    made = made_hands(decision.hands, decision.board)
    masses = decision.masses(decision.player)[decision.hands]
    rows: list[tuple[str, ...]] = []
    for name in (*MADE, "all hands"):
        held = masses * [name in (one, "all hands") for one in made]
        if held.sum() > 0:
            shares = held @ decision.frequencies / held.sum()
            cells = [f"{100 * share:.1f} %" for share in shares]
            rows.append((name, f"{100 * held.sum() / masses.sum():.1f} %", *cells))
    head = (f"player {decision.player} holds", "share", *decision.actions)
    yield text_table(head, rows, {*range(1, len(head))})
