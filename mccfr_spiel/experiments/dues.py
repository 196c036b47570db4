"""When the rows of a run are due: at numbers that depend on the settings alone.

Runs that differ in their seeds only are therefore compared at the same numbers.
"""

from collections.abc import Iterator

from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.solving.running import log_spaced


def policy_dues(settings: Settings) -> Iterator[int]:
    """The numbers, counted as in `row_dues`, of which the policies are kept: each by
    the first row that reaches it."""
    if settings.keep_policies is not None:
        last = settings.until_nodes_touched or settings.iterations
        yield from log_spaced(1, last, settings.keep_policies)


def row_dues(settings: Settings) -> Iterator[int]:
    """The numbers of iterations, or of nodes touched if the settings go by those, after
    which a row is due: increasing, and ending with the last of the run."""
    last = settings.until_nodes_touched or settings.iterations
    if not settings.is_iterative:
        last = 1
    if settings.print_freq is not None:
        yield from range(settings.print_freq, last, settings.print_freq)
        yield last
    else:
        yield from log_spaced(settings.rows_from, last, settings.rows_per_decade)
