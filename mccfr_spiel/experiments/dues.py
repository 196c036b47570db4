"""When the rows of a run are due: at numbers that depend on the settings alone.

Runs that differ in their seeds only are therefore compared at the same numbers.
"""

import math
from collections.abc import Iterator

from mccfr_spiel.experiments.settings import Settings


def row_dues(settings: Settings) -> Iterator[int]:
    """The numbers of iterations, or of nodes touched if the settings go by those, after
    which a row is due: increasing, and ending with the last of the run."""
    last = settings.until_nodes_touched or settings.iterations
    if not settings.is_iterative:
        last = 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
    else:
        due = settings.rows_from - 1
        while (due := _next_power(due, settings.rows_per_decade)) < last:
            yield due
    yield last


def _next_power(previous: int, per_decade: int) -> int:
    """The next integer that is 10 ** (k / per_decade), rounded, for some integer k."""
    # Where at least two powers are rounded to the next integer, no search is needed.
    per_decade = min(per_decade, 2**53)
    if per_decade * math.log10((previous + 1.5) / (previous + 0.5)) > 2:
        return previous + 1
    # Many small powers are rounded to the same integer, so the search begins at the
    # first k whose power may be larger than `previous`, and skips those that are not.
    power = max(math.floor(per_decade * math.log10(previous + 0.5)) - 1, 0)
    while (due := round(10 ** (power / per_decade))) <= previous:
        power += 1
    return due
