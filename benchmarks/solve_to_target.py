"""Time of `ms.solve` beside all named full-width algorithms, with the same targets.

    python -m benchmarks.solve_to_target                # twelve games and five more
    python -m benchmarks.solve_to_target --only=leduc   # games with this in the title

Both sides read the game into a tree, and run until the NashConv of the average policy
is at most 1e-2, 1e-3 and 1e-4 of the range of payoffs. The algorithms compute NashConv
at ten logarithmically spaced rows per decade. Everything is compiled before. Times are
processor time, the smaller of two runs. An algorithm that needs ten times the time of
`ms.solve` and more than a second is stopped, and counts as slower. Cells below 0.3 s
count as within all limits.
"""

import argparse
import statistics
import time

import mccfr_spiel as ms
from benchmarks.league import GAMES
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum
from mccfr_spiel.solutions.solution import Solution
from mccfr_spiel.solutions.targets import payoff_range

SHARES = (1e-2, 1e-3, 1e-4)

MORE_GAMES = {
    "Leduc, suits alike": "leduc_poker(suit_isomorphism=True)",
    "One-Card 300": "python_one_card_poker(cards=300)",
    "Goofspiel 5, bids hidden": "python_goofspiel(num_cards=5)",
    "Liar's dice, 5 sides": "liars_dice(dice_sides=5)",
    "Kuhn, four players": "kuhn_poker(players=4)",
}
"""Games outside the league."""

NAMES = [name for name, value in ms.ALGORITHMS.items() if value.sampling == ms.FULL]

SHORT = 0.3
"""Seconds below which a cell counts as within all limits."""


def time_of(game: str, name: str, target: float, limit: float) -> float:
    """Processor time of an algorithm to a NashConv; inf if it exceeds a limit."""
    began = time.process_time()
    solver = ms.Solver(game, name)

    def is_over(row: dict[str, float]) -> bool:
        return row["nash_conv"] <= target or time.process_time() - began > limit

    solver.run(
        10**7,
        metrics=ms.metrics.nash_conv,
        callback=is_over,
        rows_per_decade=10,
        progress=False,
    )
    reached = solver.history[-1]["nash_conv"] <= target
    return time.process_time() - began if reached else float("inf")


def solved(game: str, share: float) -> tuple[float, Solution]:
    """Processor time of `ms.solve`, the smaller of two runs, and the solution."""
    runs = []
    for _ in range(2):
        began = time.process_time()
        solution = ms.solve(game, relative=share)
        runs.append((time.process_time() - began, solution))
    return min(runs, key=lambda run: run[0])


def main() -> None:
    """Runs all games; prints a line per cell and the shares within the limits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    only = parser.parse_args().only.lower()
    ratios, against_median = [], []
    for title, game in {**GAMES, **MORE_GAMES}.items():
        if only not in title.lower():
            continue
        tree = ms.GameTree(game).expand_all()
        span = payoff_range(tree.source)
        has_value = is_two_player_constant_sum(tree.source)
        value = ms.solve_lp(tree).value if has_value else None
        for name in NAMES:
            ms.Solver(tree, name).iterate(1)
        for share in SHARES:
            own, solution = solved(game, share)
            if value is not None and solution.value_bounds is not None:
                low, high = solution.value_bounds
                assert low - 1e-9 <= value <= high + 1e-9, (game, share)
            limit = max(10 * own, 1.0)
            times = {name: time_of(game, name, share * span, limit) for name in NAMES}
            best = min(times, key=lambda name: times[name])
            median = statistics.median_low(times.values())
            is_short = own < SHORT
            ratios.append(1.0 if is_short else own / times[best])
            against_median.append(1.0 if is_short else own / median)
            found = str(solution.algorithm or "linear program")
            print(
                f"{title:28s} {share:g} {own:7.3f} s by {found}, "
                f"reached {solution.reached}; {best} {times[best]:.3f} s, "
                f"ratio {own / times[best]:.2f}; median {median:.3f} s",
                flush=True,
            )
    within = sum(ratio <= 2 for ratio in ratios) / len(ratios)
    print(f"{len(ratios)} cells: {100 * within:.0f} % within 2 times of the best,")
    print(f"largest ratio to the best {max(ratios):.2f},")
    print(f"largest ratio to the median {max(against_median):.2f}")


if __name__ == "__main__":
    main()
