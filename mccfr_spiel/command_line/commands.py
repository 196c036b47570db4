"""The commands `compare`, `info`, `play` and `explore`.

`info` says what a game is, what can run on it, and what that takes. `play` plays a game
in the terminal against a policy, and `explore` opens a page in the browser.
"""

import contextlib
import pathlib
import random
import re
import statistics
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyspiel
from absl import flags
from open_spiel.python.policy import Policy

from mccfr_spiel.algorithms import ALGORITHMS, CFR_PLUS, SCHEDULES
from mccfr_spiel.arenas.choosing import answers
from mccfr_spiel.arenas.infosets.loading import load_game, said_at, turn_based
from mccfr_spiel.arenas.needs import EVALUATION, Needs, needs_of
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.tree_files import load_tree
from mccfr_spiel.command_line.exporting import run_join, write_comparison
from mccfr_spiel.command_line.running import FLAGS, executor, imported_games
from mccfr_spiel.command_line.terminal import has_bars, show
from mccfr_spiel.common import limits, refusals
from mccfr_spiel.common.display import brief, one_line, player_name
from mccfr_spiel.common.folders import (
    FORMATS,
    CheckpointError,
    is_game_file,
    load_string,
)
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum, nash_conv
from mccfr_spiel.evaluation.metrics import METRICS, head_to_head
from mccfr_spiel.evaluation.plays import duplicate_returns
from mccfr_spiel.evaluation.responses import local_best_response
from mccfr_spiel.experiments.algorithm_names import (
    Count,
    Method,
    make_method,
    name_of,
    value_of,
)
from mccfr_spiel.experiments.settings import SETTINGS
from mccfr_spiel.experiments.sweeps import compare
from mccfr_spiel.exploring.answers import Hand
from mccfr_spiel.exploring.opening import explore, export
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.views import words_known_to
from mccfr_spiel.offline import OFFLINE_METHODS
from mccfr_spiel.offline.sequence_forms import sequence_form
from mccfr_spiel.solving.reading import load_policy, policy_file_in
from mccfr_spiel.solving.running import Metric
from mccfr_spiel.solving.solver import Solver

# --- compare --------------------------------------------------------------------------

_PASSED = "iterations", "workers", "rows_per_decade", "max_memory", "twin", "threads"
"""The flags that are arguments of `compare`, too."""


class OfCompare:
    """The flags that only `compare` has.

    Attributes:
        algorithms: What to compare, of the names that solve has. Parts are replaced as
            in outcome_sampling:epsilon=0.4:minimizer=ftrl, by the flags of solve.
        seeds: How many runs of each.
        nodes: Nodes that each run touches.
        iterations: How long a run is, in iterations, in place of --nodes.
        metrics: What is measured: names in mccfr_spiel.metrics (nash_conv, last_iterate
            and others), or MODULE:FUNCTION, a function of the solver in a module of
            yours. There is a figure for each.
        opponent: The opponent of head_to_head: a policy's file or folder, or uniform.
        x: The horizontal axis; by default that of --nodes or --iterations.
        style: How figures look.
        band: What bands show: one standard deviation, or the least and largest.
        figure_format: The kinds of files for figures.
        output_dir: Folder for the results; another command needs another folder.
        workers: Processes; if not given, one for each core, or as many as the cluster
            has room for.
        from_: Join the results in these folders, which solve or compare has written,
            and run nothing. More folders may follow as words.
    """

    algorithms: list = ["cfr_plus", "external_sampling", "outcome_sampling"]  # noqa: RUF012
    seeds: Count = 10
    nodes: float = 1e6
    iterations: Count | None = None
    metrics: list = ["nash_conv"]  # noqa: RUF012
    opponent: str = "uniform"
    x: Annotated[str, ("nodes_touched", "iteration", "seconds")] | None = None
    style: Annotated[str, ("paper", "dark")] = "paper"
    band: Annotated[str, ("std", "range")] = "std"
    figure_format: Annotated[list, FORMATS] = [*FORMATS]  # noqa: RUF012
    output_dir: str = "results/comparison"
    workers: Count | None = None
    from_: list = []  # noqa: RUF012


def run_compare(values: flags.FlagValues, games: Sequence[str]) -> int:
    """Runs the comparison, or joins folders of earlier runs; returns the exit code."""
    joined = values["from"]
    if joined.present:
        return run_join(values, [*joined.value, *games])
    if not games:
        raise ValueError("Which games? As in: mccfr-spiel compare kuhn_poker")
    if values["opponent"].present and "head_to_head" not in values.metrics:
        raise ValueError("--opponent does nothing without --metrics=head_to_head.")
    imports = imported_games()
    folder = pathlib.Path(values.output_dir)
    rows = "runs"
    if values.opponent != "uniform":  # rows do not say against whom they are
        rows += re.sub(r"[^\w.]+", "_", f" against {values.opponent}")
    metrics = {name: _metric(name, values.opponent) for name in values.metrics}
    table = compare(
        list(games),
        dict(algorithm_of(words, values.iterations) for words in values.algorithms),
        values.seeds,
        values.nodes,
        metrics,
        folder=folder / rows,
        executor=executor(values),
        imports=imports,
        progress=has_bars(),
        **{name: getattr(values, name) for name in _PASSED},
    )
    write_comparison(values, table, metrics)
    return 0


def algorithm_of(words: str, iterations: int | None) -> tuple[str, Method]:
    """The label and the algorithm of NAME or NAME:flag=value:flag=value.

    Args:
        words: one of --algorithms.
        iterations: of each run, the horizon of algorithms that need one; None if runs
            end by nodes touched.

    Raises:
        ValueError: there is no such algorithm, or no such parameter.
    """
    name, *parts = re.split(r":(?=\w+=)", words)  # MODULE:NAME has a colon, too
    given: dict[str, Any] = {"algorithm": name}
    try:
        for part in parts:
            flag, _, value = part.partition("=")
            if flag not in SETTINGS:
                raise ValueError(f"{flag!r} is no flag of solve.")
            given[flag] = FLAGS[flag].parser.parse(value)
        if name in SCHEDULES and given.setdefault("horizon", iterations) is None:
            raise ValueError(
                f"{name} takes a horizon, the number of iterations in which its "
                f"parameters change, as in {name}:horizon=1000, or the --iterations of "
                "the runs."
            )
        method = make_method(given)
    except ValueError as error:
        raise ValueError(f"--algorithms={words}: {error}") from error
    return name_of(method) if parts else name, method


def _metric(name: str, opponent: str) -> Metric:
    """The metric of that name, or the function MODULE.FUNCTION."""
    if name == "head_to_head":
        return METRICS[name] if opponent == "uniform" else head_to_head(opponent)
    if name in METRICS:
        return METRICS[name]
    module, _, function = name.replace(":", ".").rpartition(".")
    if not module:
        raise ValueError(
            f"--metrics={name} is none of {', '.join(METRICS)}, and no MODULE:FUNCTION."
        )
    try:
        return value_of(f"{module}:{function}")
    except ValueError as error:
        raise ValueError(f"--metrics={name}: {error}") from error


# --- info -----------------------------------------------------------------------------

_COUNTED = 3_000_000
"""A tree that is surely not larger is expanded and counted; rules do ten times more."""

_NO_LIMIT = 1e300

_TRIED = 20_000
"""Nodes that are expanded to see how long one takes."""

_SECONDS = 0.3
"""How long each algorithm is tried, about."""


class Size(NamedTuple):
    """How large a tree is.

    Attributes:
        is_counted: whether the tree is whole, not only estimated.
        forecast: the estimates.
        seconds: of expanding it, or an estimate.
        fits: whether it may fit the memory, with the tables of a solver.
        is_whole: whether it could be expanded.
        taken: the bytes of both, if the tree is counted.
    """

    is_counted: bool
    forecast: limits.Forecast
    seconds: float
    fits: bool
    is_whole: bool
    taken: int = 0


class OfInfo:
    """The flags that only `info` has.

    Attributes:
        measure: Run algorithms for a moment to see how long an iteration takes.
    """

    measure: bool = True


def run_info(values: flags.FlagValues, game: str) -> int:
    """Prints what there is to know of a game; returns the exit code."""
    imported_games()
    if not values["game"].present:
        raise ValueError("Which game? As in: mccfr-spiel info leduc_poker")
    tree = GameTree(load_string(game, values.players), max_memory=values.max_memory)
    for name, text in _lines(tree, measure=values.measure):
        show(f"{name:<12}{text}".rstrip())
    return 0


def _lines(tree: GameTree, *, measure: bool) -> Iterator[tuple[str, str]]:
    kind = tree.source.get_type()
    yield "game", f"{kind.long_name}, {brief(tree.source)}"
    no = kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
    kinds = (kind.utility, kind.information, kind.dynamics)
    words = [value.name.lower().replace("_", " ") for value in kinds]
    chance = "no chance" if no else "chance"
    yield "kind", ", ".join([f"{tree.num_players} players", *words, chance])
    size = _size(tree)
    yield from _lines_of_size(size, tree)
    times = []
    if measure:
        try:
            times = [*_lines_of_time(size, tree)]
        except ValueError as error:  # met where walks went beyond what was expanded
            yield "algorithms", f"none: {error}"
            return
    yield from _lines_of_algorithms(size, tree)
    yield from times


# --- info: size -----------------------------------------------------------------------


def _size(tree: GameTree) -> Size:
    found = tree.forecast(_NO_LIMIT)  # so that many histories are followed in any case
    most = _COUNTED * (10 if tree.rules is not None else 1)
    nodes = statistics.fmean(found.nodes)
    fits = nodes * limits.NODE_BYTES < tree.budget.limit and nodes < tree.max_nodes
    began = time.perf_counter()
    tried = most if nodes < 3 * most else _TRIED
    try:
        tree.expand_all(most=tried)
        took = time.perf_counter() - began
        solver = Solver(tree, CFR_PLUS)
    except limits.TreeFullError as error:
        took = time.perf_counter() - began
        fits &= not isinstance(error, limits.MemoryBudgetError)
        seconds = took / tried * max(nodes, tried)
        return Size(False, found, seconds, fits, tree.is_complete)
    return Size(True, found, took, True, True, solver.tree.budget.taken)


def _lines_of_size(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    if not size.is_counted:
        probes = len(size.forecast.nodes)
        histories = "history" if probes == 1 else "histories"
        yield "size", f"estimated by {probes:,} random {histories}:"
        yield "", f"{size.forecast.in_words()} for the whole tree"
        yield "", f"expanding it would take {_duration(size.seconds)}"
    else:
        players = range(tree.num_players)
        own = [int((tree.infosets["player"] == player).sum()) for player in players]
        yield "size", f"{tree.num_nodes:,} nodes, counted"
        each = " + ".join(f"{count:,}" for count in own)
        yield "", f"{tree.num_infosets:,} information sets ({each})"
        yield "", f"{tree.num_sequences:,} sequences"
        note = ", compilation included" if tree.rules is not None else ""
        yield "", f"expanding it took {_duration(size.seconds)}{note}"
    yield "memory", f"{limits.in_words(tree.budget.limit)} may be taken"
    if size.is_counted:
        yield "", f"{limits.in_words(size.taken)} for the tree and CFR+"


# --- info: algorithms -----------------------------------------------------------------


def _lines_of_algorithms(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    """The algorithms, and in which arena `Solver` would run each."""
    new = GameTree(tree.source, max_memory=tree.budget.limit)
    by_needs: dict[Needs, tuple[str, str]] = {}
    by_answer: dict[tuple[str, str], list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        needs = needs_of(algorithm)
        sentences = dict.fromkeys(("no_abstraction", "no_cluster", "no_locks"), "")
        key = needs._replace(algorithm="", **sentences)
        if key not in by_needs:  # as forecasts take half a second
            by_needs[key] = _arena_of(new, needs, size)
        by_answer.setdefault(by_needs[key], []).append(name)
    heading = "algorithms"
    for (arena, problem), names in by_answer.items():
        words = ", ".join(names)
        yield heading, f"{words}: {arena}" if arena else f"not {words}: {problem}"
        heading = ""
    offline = ", ".join(OFFLINE_METHODS)
    problem = _why_not_offline(size, tree)
    yield "offline", f"not {offline}: {problem}" if problem else offline
    arena, _ = _arena_of(new, EVALUATION, size)
    yield "evaluation", f"exact: {arena}" if arena else "by play (--evaluate=sampled)"


def _arena_of(tree: GameTree, needs: Needs, size: Size) -> tuple[str, str]:
    """The name of the arena that `choose_arena` would try first; if there is none, an
    empty name and why."""
    problem = ""
    for name, reason in answers(tree, needs):
        if name == "whole tree" and not (reason or size.fits):
            reason = "the whole tree does not fit"
            if size.is_whole:  # but not with the tables of a solver
                return "", reason
        if reason is None:
            return name, ""
        problem = problem or one_line(reason).partition(". ")[0]
    return "", problem


def _why_not_offline(size: Size, tree: GameTree) -> str:
    """Why linear programs and first-order methods cannot run; empty if they can."""
    if not size.is_counted:
        if not is_two_player_constant_sum(tree.source):
            return "they are for two players and a constant sum"
        return "" if size.fits else "the whole tree does not fit"
    try:
        sequence_form(tree)
    except ValueError as error:
        return str(error).partition(";")[0]
    return ""


# --- info: time -----------------------------------------------------------------------


def _lines_of_time(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    """What iterations take, as tried on the game. Where the whole tree is not there,
    only outcome sampling is tried: a single walk of another may meet most of it."""
    names = "cfr_plus", "external_sampling", "outcome_sampling"
    for name in names if size.is_counted else names[2:]:
        algorithm = ALGORITHMS[name]
        Solver("kuhn_poker", algorithm).iterate(1)  # compiles it
        game = tree if size.is_counted else tree.source
        solver = Solver(game, algorithm, max_memory=tree.budget.limit)
        end = time.perf_counter() + _SECONDS
        # Each pass runs as many iterations as all before it, until time is up.
        while time.perf_counter() < end and solver.num_iterations < 10_000_000:
            solver.iterate(max(solver.num_iterations, 1))
        words = _duration(solver.seconds / solver.num_iterations)
        note = "" if size.is_counted else " at first, while the tree grows"
        heading = "time" if name == "cfr_plus" or not size.is_counted else ""
        yield heading, f"{name}: {words} an iteration{note}"
    if size.is_counted:
        vector, took = np.array(Solver(tree, CFR_PLUS).average_vector()), 0.0
        for _ in range(2):  # the first of which compiles it
            began = time.perf_counter()
            nash_conv(tree, vector)
            took = time.perf_counter() - began
        yield "", f"NashConv: {_duration(took)}"


def _duration(seconds: float) -> str:
    """Seconds for readers."""
    if seconds >= 1e9:
        return "more than 30 years"
    units = {"days": 86400, "hours": 3600, "minutes": 60, "s": 0.5}
    for name, unit in (units | {"ms": 1e-3, "us": 1e-6}).items():
        if seconds >= 2 * unit:
            count = seconds / (1.0 if name == "s" else unit)
            return f"{count:,.0f} {name}" if count >= 100 else f"{count:.3g} {name}"
    return f"{seconds * 1e9:,.0f} ns"


# --- play -----------------------------------------------------------------------------


class OfPlay:
    """The flags that only `play` has.

    Attributes:
        seat: Your seat: 0 is the first player.
        policy: The policy of the others: a file, or a folder of results. Without it,
            the game is solved just before.
        algorithm: What solves the game, without --policy.
        iterations: How long, without --policy.
        seed: Seed of all draws; a new one each time if not given.
        against: In place of you, a second player whom the policy meets by duplicate
            deals, each played twice with the seats swapped: uniform, call, raise, the
            file or folder of a policy, or, in poker, lbr, a local best response, whose
            winnings are a lower bound on the policy's exploitability.
        deals: How many, with --against.
    """

    seat: int = 0
    policy: str | None = None
    algorithm: Annotated[str, (*ALGORITHMS,)] = "external_sampling"
    iterations: Annotated[int, 0] = 100_000
    seed: int | None = None
    against: str | None = None
    deals: Annotated[int, 2] = 1_000


def take_policy(values: flags.FlagValues, words: list[str]) -> list[str]:
    """Takes a word that is a file or a folder as --policy; returns the other words."""
    paths = [word for word in words if _is_policy(word)]
    for word in words:
        if is_game_file(word):
            continue
        is_path = "(" not in word and pathlib.Path(word).name != word
        if word not in paths and (is_path or word.endswith((".json", ".bin"))):
            raise ValueError(f"no such file: {word}")
    if values.policy is None and len(paths) == 1:
        values.policy = paths[0]
        return [word for word in words if word not in paths]
    return words


def _is_policy(word: str) -> bool:
    """Whether a word is a file or a folder, and neither a game's file nor a game whose
    name a folder has."""
    path = pathlib.Path(word)
    if is_game_file(word):
        return False
    if path.is_dir() and word in pyspiel.registered_names():
        return policy_file_in(path) is not None
    return path.exists()


def _given_game(values: flags.FlagValues) -> str | None:
    """The game of --game and --players; None if the policy's file names the game."""
    if values["game"].present:
        return load_string(str(values["game"].value), values.players)
    if values.players is not None:
        raise ValueError(
            f"--players={values.players} belongs to a --game, but none is given: the "
            "file of the policy names the game."
        )
    return None


def run_play(values: flags.FlagValues, game: str) -> int:
    """Plays until the user has had enough; returns the exit code."""
    unused = ("algorithm", "iterations") if values.policy is not None else ()
    for name in (*unused, "deals" if values.against is None else "seat"):
        if values[name].present:
            raise ValueError(
                f"--{name} does nothing here: --algorithm and --iterations go without "
                "--policy, --seat without --against, --deals with it."
            )
    imported_games()
    policy, told = None, values.abstraction
    abstraction = None if told is None else value_of(told)
    if values.policy is not None:
        policy = load_policy(
            values.policy, _given_game(values), abstraction=abstraction
        )
        loaded = turn_based(policy.game)
    else:
        loaded = turn_based(load_game(load_string(game, values.players)))
    players = loaded.num_players()
    seat = refusals.player(values.seat, players, "--seat")
    if policy is None:
        show(f"Solving {brief(loaded)} by {values.algorithm} ...")
        solver = Solver(
            loaded,
            ALGORITHMS[values.algorithm],
            seed=values.seed or 0,
            abstraction=abstraction,
        )
        solver.iterate(values.iterations)
        policy = solver.average_policy()
    if values.against is not None:
        name, how = values.against, {"deals": values.deals, "seed": values.seed or 0}
        if name == "lbr":
            found = local_best_response(policy.game, policy, **how)
            words = "A local best response, no more than a best response, gets "
        else:
            other: Any = name
            with contextlib.suppress(CheckpointError, OSError):  # it may have none
                other = load_policy(name, policy.game, abstraction=abstraction)
            found = duplicate_returns(policy.game, policy, other, **how)
            words = f"Against {name}: "
        show(f"{words}{found} a play, 95% interval, {values.deals:,} deals.")
        return 0
    results, total = _games(loaded, policy, seat, random.Random(values.seed)), 0.0
    with contextlib.suppress(BrokenPipeError):  # nobody reads on, as behind `| head`
        you = player_name(loaded, seat, f"player {{}} of {players}")
        print(f"You are {you}. Answer with a move's number or")
        print("name, ? to see what the policy would do, or q to leave.")
        for count, result in enumerate(results, 1):
            total += result
            print(f"You got {result:+g}; {total:+g} in {count} games.\n")
    return 0


def _games(
    game: pyspiel.Game, policy: Policy, seat: int, generator: random.Random
) -> Iterator[float]:
    """Plays one game after the other; yields what the user got in each."""
    while True:
        print("--- A new game.")
        hand, told = Hand(game, seat, policy.action_probabilities, generator), 0
        while True:
            for one in hand.log[told:]:
                if one["player"] not in (seat, pyspiel.PlayerId.CHANCE):
                    who = player_name(game, one["player"], "Player {}")
                    print(f"{who}: {one['name'] or 'an unseen move'}")
            told = len(hand.log)
            if hand.state.is_terminal():
                break
            action = _ask(hand.state, policy)
            if action is None:
                return
            hand.move(action)
        print("--- The end.")
        print(textwrap.indent(str(hand.state).strip("\n"), "  ", lambda _: True))
        yield hand.state.returns()[seat]


def _ask(state: pyspiel.State, policy: Policy) -> int | None:
    """Shows what the player knows and asks for a move; None if the user leaves."""
    player = state.current_player()
    actions = state.legal_actions()
    names = said_at(state, player, actions)
    print(f"You know: {words_known_to(state, player)}")
    for number, name in enumerate(names, 1):
        print(f"  {number}  {name}")
    while True:
        try:
            answer = input("Your move: ").strip()
            if not sys.stdin.isatty():  # then no terminal has shown it
                print(answer)
        except (EOFError, RuntimeError):  # at its end, or closed from the beginning
            print()
            return None
        if answer.lower() in ("q", "quit", "exit"):
            return None
        if answer == "?":
            odds = policy.action_probabilities(state)
            for action, name in zip(actions, names, strict=True):
                print(f"  {odds.get(action, 0.0):7.1%}  {name}")
            continue
        chosen = _chosen(answer, names)
        if chosen is not None:
            return actions[chosen]
        print(f"{answer!r} is none of 1 to {len(names)}, and no move's name.")


def _chosen(answer: str, names: list[str]) -> int | None:
    """The place of the move that an answer means, by its number, name, or the only name
    that begins so; None if there is none."""
    if answer.isdecimal():
        return int(answer) - 1 if 1 <= int(answer) <= len(names) else None
    lowered = [name.lower() for name in names]
    if answer.lower() in lowered:
        return lowered.index(answer.lower())
    like = [i for i, name in enumerate(lowered) if name.startswith(answer.lower())]
    return like[0] if answer and len(like) == 1 else None


# --- the command `explore`: a page in the browser, or in a file -----------------------


class OfExplore:
    """The flags that only `explore` has.

    Attributes:
        port: The port of the loopback address; 0 stands for any that is free.
        export: Write the page into this file, which needs no server, and open none. For
            games of up to 20,000 nodes.
        tree: The folder of the game's whole tree, which ms.save_tree wrote. A game of
            more than a million nodes has values only with its tree.
    """

    port: Annotated[int, 0] = 0
    export: str | None = None
    tree: str | None = None


def run_explore(values: flags.FlagValues, words: Sequence[str]) -> int:
    """Opens the page, and keeps it until Ctrl-C; returns the exit code."""
    if not words:
        raise ValueError(
            "What is to be explored? A folder of results, or a file of a policy, as "
            "in: mccfr-spiel explore results/leduc_poker_external_sampling_seed0"
        )
    imported_games()
    game: Any = _given_game(values)
    paths = [pathlib.Path(word) for word in words]
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} is no folder of results and no file.")
    if values.abstraction is not None:
        if values.tree is not None:
            raise ValueError("--tree has no abstraction; drop it or --abstraction.")
        made = value_of(values.abstraction)
        told = game or str(load_policy(paths[0], abstraction=made).game)
        game = GameTree(told, abstraction=made)
    elif values.tree is not None:
        game = load_tree(values.tree, game)
    what: Any = paths[0] if len(paths) == 1 else {str(path): path for path in paths}
    if values.export is not None:
        export(Subject(what, game), values.export, show)
        show(f"The page is in {values.export}")
        return 0
    page = explore(what, game, port=values.port)
    show(f"{page.subject.title}: open this link, which is for you alone.")
    show(f"  {page.url}")
    show("Ctrl-C ends it.")
    try:
        page.wait()
    finally:
        page.stop()
    return 0
