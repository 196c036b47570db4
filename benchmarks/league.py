"""The league table: algorithms on twelve games, time to NashConv 1e-1 .. 1e-9.

    python -m benchmarks.league                 # half an hour; prints the page
    python -m benchmarks.league --write         # also docs/measured.md, docs/league and
                                                # benchmarks/league.csv
    python -m benchmarks.league --seconds=60    # the long version, about eight hours
    python -m benchmarks.league --only=leduc    # games whose titles contain this

Each algorithm runs for a few seconds on each game, in one thread. Sampling algorithms
run with several seeds, and the page shows the run with the median rank. NashConv is
measured after 1, 2, 3, ... iterations, in steps of at most 10 %, so that a reported
time is at most 10 % too long. Measuring does not count as time. NashConv belongs to the
last iterate for magnetic mirror descent, and to the average policy for all others.
"""

import argparse
import csv
import importlib
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image  # a dependency of matplotlib

import mccfr_spiel as ms
from benchmarks.machine import markdown
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum

importlib.import_module("mccfr_spiel.games")  # registers the papers' games

Method = ms.Algorithm | ms.offline.OfflineMethod

DOCS = pathlib.Path(__file__).parents[1] / "docs"
TABLE = pathlib.Path(__file__).with_name("league.csv")

MOST_ITERATIONS = 10**12

FIRST_CALL = 1e-3
"""Seconds below which a time reflects the first call more than the algorithm."""

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
"""Title -> load string."""


HORIZON = 1000
"""Horizon of the algorithms with a schedule in the league, in iterations. Their
parameters are constant after the horizon."""

ENTRANTS: dict[str, ms.Algorithm] = {
    **{name: value for name, value in ms.ALGORITHMS.items() if name != "omd"},
    "hs_dcfr gamma=8": ms.algorithms.hs_dcfr(HORIZON, gamma=8.0),
    "hs_dcfr gamma=30": ms.algorithms.hs_dcfr(HORIZON, gamma=30.0),
    "hs_pcfr_plus": ms.algorithms.hs_pcfr_plus(HORIZON),
    "dcfr alpha=2": ms.DCFR._replace(
        minimizer=ms.algorithms.discounted_regret_matching(2.0, 0.0)
    ),
    "regret-based pruning": ms.Algorithm(
        ms.algorithms.full(prune="regret"), ms.algorithms.regret_matching()
    ),
    "external with baselines": ms.Algorithm(
        ms.algorithms.external(baseline="learned"), ms.algorithms.regret_matching()
    ),
    "outcome with baselines": ms.Algorithm(
        ms.algorithms.outcome(0.6, baseline="learned"), ms.algorithms.regret_matching()
    ),
    "external dcfr": ms.DCFR._replace(sampling=ms.algorithms.EXTERNAL),
    "optimistic_ftrl step=10": ms.Algorithm(
        ms.algorithms.FULL, ms.algorithms.optimistic_ftrl(10.0), ms.algorithms.LINEAR
    ),
    "mmd step=0.5": ms.Algorithm(
        ms.algorithms.FULL, ms.algorithms.mmd(0.5, 1.0, temperature_power=0.5)
    ),
}
"""Name in league.csv -> algorithm, without offline methods. OMD is missing, because
with a constant step size it is the same as FTRL."""


class LeagueRow(NamedTuple):
    """A row of league.csv, which `python -m benchmarks.league --write` writes.

    A target is a NashConv that algorithms try to reach. For each game and target, the
    file has a row for each of the two fastest algorithms. If no algorithm reached some
    target of a game, there is one more row for the game, for the algorithm that came to
    the lowest NashConv.

    Attributes:
        game: title of the game.
        nodes: number of nodes of the game's tree.
        zero_sum: whether the game is a two-player zero-sum game.
        nash_conv: the target; if `place` is "lowest", the lowest NashConv that any
            algorithm reached.
        place: "1" or "2" for the first and second algorithm to reach the target, or
            "lowest".
        algorithm: name of the algorithm.
        nodes_touched, seconds: cost until the target was reached; 0 for "lowest".
    """

    game: str
    nodes: int
    zero_sum: bool
    nash_conv: float
    place: str
    algorithm: str
    nodes_touched: int
    seconds: float


def entrants() -> dict[str, Method]:
    """The algorithms by name."""
    methods: dict[str, Method] = {**ENTRANTS}
    for name in ("practical_egt", "mirror_prox", "lp"):
        methods[name] = ms.offline.OFFLINE_METHODS[name]
    return methods


class Point(NamedTuple):
    """A measurement of a run.

    Attributes:
        iteration, nodes, seconds: iterations done, nodes touched, seconds of solving.
        gap: NashConv.
    """

    iteration: int
    nodes: int
    seconds: float
    gap: float


Curve = list[Point]


def middle_run(tree: ms.GameTree, method: Method, seconds: float, seeds: int) -> Curve:
    """Returns the run with the median rank over the seeds; a single run if nothing is
    sampled."""
    samples = isinstance(method, ms.Algorithm) and method.sampling.is_sampled
    curves = [run(tree, method, seconds, s) for s in range(seeds if samples else 1)]
    return sorted(curves, key=rank)[len(curves) // 2]


def run(tree: ms.GameTree, method: Method, seconds: float, seed: int = 0) -> Curve:
    """Runs a method for `seconds` of solving; returns its points.

    The run ends early at the last target. A linear program has one point, or none if it
    exceeds ten times the seconds (at least five seconds).
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
        if (
            due > MOST_ITERATIONS
        ):  # practical EGT does not iterate beyond rounding errors
            return curve
    return curve


def is_iterative(method: Method) -> bool:
    """Whether a method has intermediate policies."""
    return isinstance(method, ms.Algorithm) or method.is_iterative


def dues() -> Iterator[int]:
    """Yields 1, 2, 3, ..., from 10 on in steps of at most 10 %."""
    due = 1
    while True:
        yield due
        due += max(1, due // 10)


def warm_up() -> None:
    """Compiles all methods, so that runs do not include compilation."""
    tree = ms.GameTree("kuhn_poker").expand_all()
    for method in entrants().values():
        run(tree, method, 0.0)


def first_below(curve: Curve, target: float) -> Point | None:
    """The first point whose NashConv is at most the target."""
    return next((point for point in curve if point.gap <= target), None)


def can_run(tree: ms.GameTree, method: Method) -> bool:
    """Whether a method supports the game.

    Offline methods need two players and a constant sum, regret pruning two players.
    """
    if isinstance(method, ms.Algorithm):
        return tree.num_players == 2 or not method.sampling.prunes_by_regret
    return is_two_player_constant_sum(tree.game)


# --- the page --------------------------------------------------------------------


def short(number: float) -> str:
    """Formats a number with three digits and the suffix k, M or G."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def cell(point: Point | None) -> str:
    """Formats nodes touched and seconds."""
    return "" if point is None else f"{short(point.nodes)}, {point.seconds:.2g} s"


def best(curve: Curve) -> Point:
    """The point with the lowest NashConv."""
    return min(curve, key=lambda point: point.gap)


def rank(curve: Curve) -> tuple[Any, ...]:
    """Sort key of curves: number of targets reached, time to the last one, lowest
    NashConv."""
    reached = [first_below(curve, target) for target in TARGETS]
    times = [point.seconds for point in reached if point is not None]
    return -len(times), times[-1] if times else 0.0, best(curve).gap


def table_of(curves: dict[str, Curve]) -> str:
    """Formats the table of a game, best algorithms first."""
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
    """Draws NashConv over seconds of the six best algorithms and four well-known
    ones."""
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
    """File name of a game's figure."""
    kept = "".join(c if c.isalnum() else "_" for c in title.lower())
    return "_".join(part for part in kept.split("_") if part) + ".png"


def page_of(places: list[LeagueRow]) -> str:
    """Formats the table of the fastest algorithms as Markdown."""
    titles = list(dict.fromkeys(place.game for place in places))
    rows = []
    for title in titles:
        mine = [place for place in places if place.game == title]
        first = {place.nash_conv: place for place in mine if place.place == "1"}
        cells = [first.get(target) for target in TARGETS]
        winners = [
            "" if place is None else f"{place.algorithm}, {place.seconds:.2g} s"
            for place in cells
        ]
        lowest = next(place for place in mine if place.place == "lowest")
        size = f"{lowest.nodes:,}"
        rows.append(
            [title, size, *winners, f"{lowest.algorithm}, {lowest.nash_conv:.2g}"]
        )
    heads = ["game", "nodes", *(f"{t:g}" for t in TARGETS), "lowest"]
    return markdown(heads, rows)


def write_curves(
    results: dict[str, dict[str, Curve]], trees: dict[str, tuple[int, bool]]
) -> None:
    """Writes time to each target and lowest NashConv of all algorithms as CSV."""
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


def speed(entry: tuple[str, int, float]) -> tuple[float, int]:
    """Sort key of (name, nodes, seconds): seconds, or nodes if the seconds are those of
    a first call."""
    return max(entry[2], FIRST_CALL), entry[1]


def places_of(
    results: dict[str, dict[str, Curve]], trees: dict[str, tuple[int, bool]]
) -> list[LeagueRow]:
    """The rows of league.csv.

    For each game and target it has the fastest two algorithms with their nodes and
    seconds, and for each game the algorithm with the lowest NashConv.
    """
    places = []
    for title, curves in results.items():
        for target in TARGETS:
            times = [
                (name, point.nodes, round(point.seconds, 4))
                for name, curve in curves.items()
                if (point := first_below(curve, target)) is not None
            ]
            for rank, entry in enumerate(sorted(times, key=speed)[:2], 1):
                places.append(
                    LeagueRow(title, *trees[title], target, str(rank), *entry)
                )
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
    """Replaces the table between BEGIN and END in docs/measured.md."""
    path = DOCS / "measured.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
