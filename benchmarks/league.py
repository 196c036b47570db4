"""The league table: every algorithm on twelve games, until NashConv 1e-1 .. 1e-9.

    python -m benchmarks.league                 # half an hour; prints the page
    python -m benchmarks.league --write         # also docs/measured.md, docs/league and
                                                # what `ms.recommend` reads
    python -m benchmarks.league --seconds=60    # the long version, some eight hours
    python -m benchmarks.league --only=leduc    # games whose titles contain this

Each algorithm runs for some seconds of solving on each game, in one thread. Those that
sample run from several seeds, and the page has the run in the middle. NashConv is
measured after 1, 2, 3, ... iterations, each number at most a tenth larger than the one
before, so that what is written is at most that much too high. The time of measuring
does not count. The last iterate's NashConv is taken of magnetic mirror descent, the
average's of all others.
"""

import argparse
import csv
import importlib
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image  # matplotlib brings it

import mccfr_spiel as ms
from benchmarks.machine import markdown
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.evaluation.recommending import ENTRANTS, LeagueRow

importlib.import_module("mccfr_spiel.games")  # registers the papers' games

Method = ms.Algorithm | ms.offline.OfflineMethod

DOCS = pathlib.Path(__file__).parents[1] / "docs"
TABLE = pathlib.Path(__file__).parents[1] / "mccfr_spiel/evaluation/league.csv"

MOST_ITERATIONS = 10**12

FIRST_CALL = 1e-3
"""Seconds below this say more about the first call than about an algorithm."""

TARGETS = (1e-1, 1e-2, 1e-3, 1e-6, 1e-9)

GAMES = {
    "Kuhn": "kuhn_poker",
    "Leduc": "leduc_poker",
    "Leduc13": "python_leduc_ranks(ranks=13)",
    "Liar's dice, 4 sides": "liars_dice(dice_sides=4)",
    "Liar's dice, 6 sides": "liars_dice",
    "Goofspiel 4, bids hidden": "python_goofspiel(num_cards=4)",
    "Goofspiel 4, bids seen": "python_goofspiel(num_cards=4,imp_info=False,"
    "points_order=random,returns_type=point_difference)",
    "Battleship": "battleship(board_width=3,board_height=2,ship_sizes=[2],"
    "ship_values=[1],num_shots=2,allow_repeated_shots=false)",
    "Search 5": "python_search(turns=5)",
    "One-Card 100": "python_one_card_poker(cards=100)",
    "Kuhn, three players": "kuhn_poker(players=3)",
    "Goofspiel 3, general sum": "goofspiel(num_cards=3,imp_info=True,"
    "points_order=random,returns_type=total_points)",
}
"""The load strings by the titles that the page gives them."""


def entrants() -> dict[str, Method]:
    """What takes part, by the names on the page."""
    found: dict[str, Method] = {**ENTRANTS}
    for name in ("practical_egt", "mirror_prox", "lp"):
        found[name] = ms.offline.OFFLINE_METHODS[name]
    return found


class Point(NamedTuple):
    """Where a run stood at a measurement.

    Attributes:
        iteration, nodes, seconds: done, touched and spent.
        gap: NashConv.
    """

    iteration: int
    nodes: int
    seconds: float
    gap: float


Curve = list[Point]


def middle_run(tree: ms.GameTree, method: Method, seconds: float, seeds: int) -> Curve:
    """The run whose rank is in the middle of those from so many seeds, or the only one
    if nothing is sampled."""
    samples = isinstance(method, ms.Algorithm) and method.sampling.is_sampled
    curves = [run(tree, method, seconds, s) for s in range(seeds if samples else 1)]
    return sorted(curves, key=rank)[len(curves) // 2]


def run(tree: ms.GameTree, method: Method, seconds: float, seed: int = 0) -> Curve:
    """The points of one run, of so many seconds of solving.

    It ends early at the last target. Of a linear program there is one point, or none if
    it takes ten times the seconds, and five.
    """
    if method is ms.offline.OFFLINE_METHODS["lp"]:
        method = method._replace(time_limit=max(10 * seconds, 5.0))
    vector: Callable[[], Any]
    if isinstance(method, ms.Algorithm):
        solver: Any = ms.Solver(tree, method, seed=seed)
        is_last = method.minimizer.rule == "mmd"
        vector = solver.current_vector if is_last else solver.average_vector
    else:
        solver = method.start(tree)
        vector = solver.average_vector
    curve: Curve = []
    for due in dues():
        try:
            solver.iterate(due - solver.num_iterations)
        except ms.offline.LinearProgramError:
            return curve
        gap = max(ms.nash_conv(tree, vector()), 0.0)
        done = solver.num_iterations, solver.nodes_touched, solver.seconds
        curve.append(Point(*done, gap))
        if solver.seconds > seconds or gap <= TARGETS[-1] or not is_iterative(method):
            return curve
        if due > MOST_ITERATIONS:  # practical EGT stops where all is rounding
            return curve
    return curve


def is_iterative(method: Method) -> bool:
    """Whether a method has a curve."""
    return isinstance(method, ms.Algorithm) or method.is_iterative


def dues() -> Iterator[int]:
    """1, 2, 3, ..., each at most a tenth larger than the one before from 10 on."""
    due = 1
    while True:
        yield due
        due += max(1, due // 10)


def warm_up() -> None:
    """Compiles everything, so that no run's seconds include the compiler's."""
    tree = ms.GameTree("kuhn_poker").expand_all()
    for method in entrants().values():
        run(tree, method, 0.0)


def first_below(curve: Curve, target: float) -> Point | None:
    """The first point whose NashConv is not above a target."""
    return next((point for point in curve if point.gap <= target), None)


def can_run(tree: ms.GameTree, method: Method) -> bool:
    """Offline methods are for two-player zero-sum games, pruning by regret for two
    players."""
    if isinstance(method, ms.Algorithm):
        return tree.num_players == 2 or not method.sampling.prunes_by_regret
    return is_two_player_constant_sum(tree.game)


# --- the page --------------------------------------------------------------------


def short(number: float) -> str:
    """Three digits at most, in thousands or millions."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def cell(point: Point | None) -> str:
    """Nodes touched and seconds."""
    return "" if point is None else f"{short(point.nodes)}, {point.seconds:.2g} s"


def best(curve: Curve) -> Point:
    """The point with the lowest NashConv."""
    return min(curve, key=lambda point: point.gap)


def rank(curve: Curve) -> tuple[Any, ...]:
    """Sorts curves: the lowest target that was reached, and how soon; then the gap."""
    reached = [first_below(curve, target) for target in TARGETS]
    times = [point.seconds for point in reached if point is not None]
    return -len(times), times[-1] if times else 0.0, best(curve).gap


def table_of(curves: dict[str, Curve]) -> str:
    """A game's markdown table, the best algorithms first."""
    rows = [
        [
            name,
            *(cell(first_below(curve, target)) for target in TARGETS),
            f"{best(curve).gap:.2g}",
        ]
        for name, curve in sorted(curves.items(), key=lambda item: rank(item[1]))
    ]
    return markdown(["algorithm", *(f"{t:g}" for t in TARGETS), "lowest"], rows)


def draw(title: str, curves: dict[str, Curve], path: pathlib.Path) -> None:
    """NashConv over seconds: the six that come lowest, and four that people know."""
    ranked = sorted(curves, key=lambda name: rank(curves[name]))
    chosen = [name for name in ranked if len(curves[name]) > 1][:6]
    known = "cfr", "cfr_plus", "external_sampling", "outcome_sampling"
    lines, plotting = {}, ms.experiments.plotting
    for name in dict.fromkeys([*chosen, *known]):
        seconds, gaps = np.array([(p.seconds, p.gap) for p in curves[name]]).T
        lines[name] = plotting.Line({"seconds": seconds}, gaps)
    figure = plotting.lines_figure({title: lines}, [("seconds", "log")])
    figure.savefig(path, dpi=140)
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def file_of(title: str) -> str:
    """The name of a game's picture."""
    kept = "".join(c if c.isalnum() else "_" for c in title.lower())
    return "_".join(part for part in kept.split("_") if part) + ".png"


def page_of(places: list[LeagueRow]) -> str:
    """The table of who was first, as markdown."""
    titles = list(dict.fromkeys(place.game for place in places))
    rows = []
    for title in titles:
        mine = [place for place in places if place.game == title]
        first = {one.nash_conv: one for one in mine if one.place == "1"}
        cells = [first.get(target) for target in TARGETS]
        words = [
            "" if one is None else f"{one.algorithm}, {one.seconds:.2g} s"
            for one in cells
        ]
        lowest = next(one for one in mine if one.place == "lowest")
        size = f"{lowest.nodes:,}"
        rows.append(
            [title, size, *words, f"{lowest.algorithm}, {lowest.nash_conv:.2g}"]
        )
    heads = ["game", "nodes", *(f"{t:g}" for t in TARGETS), "lowest"]
    return markdown(heads, rows)


def write_curves(
    results: dict[str, dict[str, Curve]], trees: dict[str, tuple[int, bool]]
) -> None:
    """Writes when each algorithm reached each target, and how low it came, as CSV."""
    with (DOCS / "league/league.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        head = "game", "nodes", "algorithm", "nash_conv", "nodes_touched", "seconds"
        table.writerow([*head, "lowest"])
        for title, curves in results.items():
            for name, curve in sorted(curves.items(), key=lambda item: rank(item[1])):
                start = title, trees[title][0], name
                for target in TARGETS:
                    point = first_below(curve, target)
                    if point is not None:
                        seconds = f"{point.seconds:.2g}"
                        table.writerow(
                            [*start, f"{target:g}", point.nodes, seconds, ""]
                        )
                table.writerow([*start, "", "", "", f"{best(curve).gap:.2g}"])


def speed(found: tuple[str, int, float]) -> tuple[float, int]:
    """Sorts a name, nodes touched and seconds: by the seconds, and by the nodes where
    the seconds are those of the first call."""
    return max(found[2], FIRST_CALL), found[1]


def places_of(
    results: dict[str, dict[str, Curve]], trees: dict[str, tuple[int, bool]]
) -> list[LeagueRow]:
    """What `recommend` reads: for each game and target who was there first and second,
    after how many nodes touched and seconds; and for each game who came lowest."""
    places = []
    for title, curves in results.items():
        for target in TARGETS:
            found = [
                (name, point.nodes, round(point.seconds, 4))
                for name, curve in curves.items()
                if (point := first_below(curve, target)) is not None
            ]
            for rank, one in enumerate(sorted(found, key=speed)[:2], 1):
                places.append(LeagueRow(title, *trees[title], target, str(rank), *one))
        name = min(curves, key=lambda name: best(curves[name]).gap)
        gap = float(f"{best(curves[name]).gap:.2g}")
        places.append(LeagueRow(title, *trees[title], gap, "lowest", name, 0, 0.0))
    return places


def main() -> None:
    """Runs the league."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    began = time.perf_counter()
    warm_up()
    results: dict[str, dict[str, Curve]] = {}
    trees: dict[str, tuple[int, bool]] = {}
    for title in GAMES:
        if options.only.lower() not in title.lower():
            continue
        tree = ms.GameTree(GAMES[title]).expand_all()
        zero_sum = is_two_player_constant_sum(tree.game)
        trees[title] = tree.num_nodes, zero_sum
        curves = {
            name: middle_run(tree, method, options.seconds, options.seeds)
            for name, method in entrants().items()
            if can_run(tree, method)
        }
        results[title] = {name: curve for name, curve in curves.items() if curve}
        print(f"{title}: {time.perf_counter() - began:.0f} s", flush=True)
        print(table_of(results[title]), flush=True)
    if options.write:
        (DOCS / "league").mkdir(exist_ok=True)
        for title, curves in results.items():
            draw(title, curves, DOCS / "league" / file_of(title))
        places = places_of(results, trees)
        write_page(page_of(places))
        write_curves(results, trees)
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerows([LeagueRow._fields, *places])


BEGIN = "<!-- league: written by python -m benchmarks.league --write -->"
END = "<!-- end of the league -->"


def write_page(table: str) -> None:
    """Puts the table between its two marks on the page of what was measured."""
    path = DOCS / "measured.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
