"""The command `info`: size of a game, algorithms that can run, memory and time."""

import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from absl import flags

from mccfr_spiel.algorithms import ALGORITHMS, CFR_PLUS
from mccfr_spiel.arenas.choosing import answers
from mccfr_spiel.arenas.needs import EVALUATION, Needs, needs_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.command_line.program_flags import import_given
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common.budget import MemoryBudgetError, TreeFullError
from mccfr_spiel.common.display import brief, one_line
from mccfr_spiel.common.forecasts import NODE_BYTES, Forecast
from mccfr_spiel.common.memory import in_words
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum, nash_conv
from mccfr_spiel.experiments.load_strings import (
    load_string,
)
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.offline import OFFLINE_METHODS
from mccfr_spiel.offline.sequence_forms import sequence_form
from mccfr_spiel.solving.solver import Solver

_MAX_COUNTED = 3_000_000
"""Trees up to this size are expanded and counted; with compiled rules, ten times it."""

_NO_LIMIT = 1e300

_NUM_SAMPLED = 20_000
"""Nodes of a larger tree that are expanded to measure the time per node."""

_SECONDS = 0.3
"""Seconds for which each algorithm is measured, approximately."""

INFO_FLAGS = (
    Setting(
        "measure",
        bool,
        True,
        "Run algorithms briefly to measure the time per iteration.",
    ),
)


class TreeSize(NamedTuple):
    """The size of a game tree.

    Attributes:
        is_counted: whether the numbers are exact: the tree is completely expanded, and
            the tables of a solver fit.
        forecast: estimates from random histories.
        seconds: time to expand the tree, measured or estimated.
        fits: whether the tree, with the tables of a solver, may fit in memory.
        is_whole: whether the tree is completely expanded.
        taken: bytes of the tree and of a CFR+ solver; 0 if not counted.
    """

    is_counted: bool
    forecast: Forecast
    seconds: float
    fits: bool
    is_whole: bool
    taken: int = 0


def run_info(values: flags.FlagValues, game: str) -> int:
    """Prints facts about a game; returns the exit code."""
    import_given()
    if not values["game"].present:
        raise ValueError("A game is required. Example: mccfr-spiel info leduc_poker")
    tree = GameTree(load_string(game, values.players), max_memory=values.max_memory)
    for heading, text in _lines(tree, measure=values.measure):
        show(f"{heading:<12}{text}".rstrip())
    return 0


def _lines(tree: GameTree, *, measure: bool) -> Iterator[tuple[str, str]]:
    """Yields a heading, empty in continuation lines, and a text for each line."""
    kind = tree.source.get_type()
    name = brief(tree.source)
    yield "game", name if kind.long_name in name else f"{kind.long_name}, {name}"
    is_deterministic = kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
    properties = (kind.utility, kind.information, kind.dynamics)
    names = [value.name.lower().replace("_", " ") for value in properties]
    chance = "no chance" if is_deterministic else "chance"
    yield "kind", ", ".join([f"{tree.num_players} players", *names, chance])
    size = _size(tree)
    yield from _size_lines(size, tree)
    times = []
    if measure:
        try:
            times = [*_time_lines(size, tree)]
        except ValueError as error:  # an error of the game in nodes not expanded before
            yield "algorithms", f"none: {error}"
            return
    yield from _algorithm_lines(size, tree)
    yield from times


# --- size -----------------------------------------------------------------------------


def _size(tree: GameTree) -> TreeSize:
    """Expands the tree if it is small, else only a part of it to measure the time."""
    forecast = tree.forecast(_NO_LIMIT)  # without a limit, all histories are followed
    limit = _MAX_COUNTED * (10 if tree.rules is not None else 1)
    nodes = statistics.fmean(forecast.nodes)
    fits = nodes * NODE_BYTES < tree.budget.limit and nodes < tree.max_nodes
    began = time.perf_counter()
    num_expanded = limit if nodes < 3 * limit else _NUM_SAMPLED
    try:
        tree.expand_all(most=num_expanded)
        seconds = time.perf_counter() - began
        solver = Solver(tree, CFR_PLUS)
    except TreeFullError as error:
        seconds = time.perf_counter() - began
        fits &= not isinstance(error, MemoryBudgetError)
        seconds *= max(nodes, num_expanded) / num_expanded
        return TreeSize(False, forecast, seconds, fits, tree.is_complete)
    return TreeSize(True, forecast, seconds, True, True, solver.tree.budget.taken)


def _size_lines(size: TreeSize, tree: GameTree) -> Iterator[tuple[str, str]]:
    if not size.is_counted:
        probes = len(size.forecast.nodes)
        histories = "history" if probes == 1 else "histories"
        yield "size", f"estimated from {probes:,} random {histories}:"
        yield "", f"{size.forecast.in_words()} for the whole tree"
        yield "", f"expanding it would take {_duration(size.seconds)}"
    else:
        players = range(tree.num_players)
        counts = [int((tree.infosets["player"] == player).sum()) for player in players]
        yield "size", f"{tree.num_nodes:,} nodes, counted"
        per_player = " + ".join(f"{count:,}" for count in counts)
        yield "", f"{tree.num_infosets:,} information sets ({per_player})"
        yield "", f"{tree.num_sequences:,} sequences"
        note = ", including compilation" if tree.rules is not None else ""
        yield "", f"expanding it took {_duration(size.seconds)}{note}"
    yield "memory", f"{in_words(tree.budget.limit)} available"
    if size.is_counted:
        yield "", f"{in_words(size.taken)} for the tree and CFR+"


# --- algorithms -----------------------------------------------------------------------


def _algorithm_lines(size: TreeSize, tree: GameTree) -> Iterator[tuple[str, str]]:
    """Yields the algorithms by the arena in which `Solver` would run them."""
    empty = GameTree(tree.source, max_memory=tree.budget.limit)
    by_needs: dict[Needs, tuple[str, str]] = {}
    by_answer: dict[tuple[str, str], list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        needs = needs_of(algorithm)
        sentences = dict.fromkeys(("no_abstraction", "no_cluster", "no_locks"), "")
        key = needs._replace(algorithm="", **sentences)
        if key not in by_needs:  # cached, because a forecast takes half a second
            by_needs[key] = _arena_of(empty, needs, size)
        by_answer.setdefault(by_needs[key], []).append(name)
    heading = "algorithms"
    for (arena, problem), names in by_answer.items():
        text = ", ".join(names)
        yield heading, f"{text}: {arena}" if arena else f"not {text}: {problem}"
        heading = ""
    offline = ", ".join(OFFLINE_METHODS)
    problem = _why_not_offline(size, tree)
    yield "offline", f"not {offline}: {problem}" if problem else offline
    arena, _ = _arena_of(empty, EVALUATION, size)
    yield "evaluation", f"exact: {arena}" if arena else "by play (--evaluate=sampled)"


def _arena_of(tree: GameTree, needs: Needs, size: TreeSize) -> tuple[str, str]:
    """The name of the first arena that suits the needs, or "" and the reason."""
    problem = ""
    for name, reason in answers(tree, needs):
        if name == "whole tree" and not (reason or size.fits):
            reason = "the whole tree does not fit"
            if size.is_whole:  # the tree alone fits, but not the tables of a solver
                return "", reason
        if reason is None:
            return name, ""
        problem = problem or one_line(reason).partition(". ")[0]
    return "", problem


def _why_not_offline(size: TreeSize, tree: GameTree) -> str:
    """Why offline methods cannot solve the game; "" if they can."""
    if not size.is_counted:
        if not is_two_player_constant_sum(tree.source):
            return "they need two players and a constant sum"
        return "" if size.fits else "the whole tree does not fit"
    try:
        sequence_form(tree)
    except ValueError as error:
        return str(error).partition(";")[0]
    return ""


# --- time -----------------------------------------------------------------------------


def _time_lines(size: TreeSize, tree: GameTree) -> Iterator[tuple[str, str]]:
    """Measures iterations.

    On a partial tree only outcome sampling is measured: a single walk of the other
    algorithms may visit most of the tree.
    """
    names = "cfr_plus", "external_sampling", "outcome_sampling"
    for name in names if size.is_counted else names[2:]:
        algorithm = ALGORITHMS[name]
        Solver("kuhn_poker", algorithm).iterate(1)  # compiles the code
        game = tree if size.is_counted else tree.source
        solver = Solver(game, algorithm, max_memory=tree.budget.limit)
        end = time.perf_counter() + _SECONDS
        # Each pass doubles the number of iterations, until the time is up.
        while time.perf_counter() < end and solver.num_iterations < 10_000_000:
            solver.iterate(max(solver.num_iterations, 1))
        duration = _duration(solver.seconds / solver.num_iterations)
        note = "" if size.is_counted else " at first, while the tree grows"
        heading = "time" if name == "cfr_plus" or not size.is_counted else ""
        yield heading, f"{name}: {duration} per iteration{note}"
    if size.is_counted:
        vector, seconds = np.array(Solver(tree, CFR_PLUS).average_vector()), 0.0
        for _ in range(2):  # the first call compiles the code
            began = time.perf_counter()
            nash_conv(tree, vector)
            seconds = time.perf_counter() - began
        yield "", f"NashConv: {_duration(seconds)}"


def _duration(seconds: float) -> str:
    """Formats seconds in a suitable unit."""
    if seconds >= 1e9:
        return "more than 30 years"
    units = {"days": 86400, "hours": 3600, "minutes": 60, "s": 0.5}
    for name, unit in (units | {"ms": 1e-3, "us": 1e-6}).items():
        if seconds >= 2 * unit:
            count = seconds / (1.0 if name == "s" else unit)
            return f"{count:,.0f} {name}" if count >= 100 else f"{count:.3g} {name}"
    return f"{seconds * 1e9:,.0f} ns"
