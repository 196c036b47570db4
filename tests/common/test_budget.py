"""Allocations beyond the memory budget are refused before they are made."""

import itertools
import math
import pathlib
import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common import budget, memory
from mccfr_spiel.common.budget import Budget, MemoryBudgetError, TreeFullError
from mccfr_spiel.common.forecasts import exceeds
from mccfr_spiel.solving.solver import Solver
from tests import small_games
from tests.small_games import leaf, move, small_game

MIB = 2**20


# --- sizes and what is free ----------------------------------------------------


@pytest.mark.parametrize(
    ("size", "expected"),
    [(2.5e9, 25 * 10**8), ("4 gib", 4 * 2**30), ("1.5k", 1536), ("2e9", 2 * 10**9)],
)
def test_sizes_are_parsed(size, expected):
    assert memory.parse_bytes(size) == expected


@pytest.mark.parametrize("size", [999, 999.6e3, 123e6, 999.6e9, 999.6e12])
def test_sizes_are_shown_with_three_digits_and_a_unit(size):
    assert memory.in_words(size).split()[0] in {"999", "1", "123", "10^6"}


@pytest.mark.parametrize("size", [0, "4 apples", math.nan, math.inf, []])
def test_invalid_sizes_are_refused(size):
    with pytest.raises(ValueError, match=r"max_memory=.*must be a positive size"):
        Solver("kuhn_poker", max_memory=size)


def test_control_groups_limit_free_memory(tmp_path):
    membership = tmp_path / "cgroup"
    mount = tmp_path / "fs"
    outer, inner = mount / "a", mount / "a" / "b"
    inner.mkdir(parents=True)
    membership.write_text("0::/a/b\n")
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("10\n")
    assert memory.cgroups_free(membership, mount) == []
    (outer / "memory.max").write_text(
        "1000\n"
    )  # the limit of the parent binds the child
    (outer / "memory.current").write_text("700\n")
    (outer / "memory.stat").write_text("anon 600\ninactive_file 50\n")
    assert memory.cgroups_free(membership, mount) == [350]
    membership.write_text("0::/not/mounted/here\n")  # as inside a container
    (mount / "memory.max").write_text("900\n")
    (mount / "memory.current").write_text("100\n")
    assert memory.cgroups_free(membership, mount) == [800]
    assert memory.cgroups_free(tmp_path / "none", mount) == []


def test_default_is_half_of_free_memory(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 1_000_001)
    assert Budget().limit == 500_000
    assert GameTree("kuhn_poker").budget.limit == 500_000
    assert Budget(7).limit == 7


# --- forecasts -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimates", "refused"),
    [
        ([9e7], True),
        ([7e7], False),
        ([4.0] * 20, True),
        (([0.0] * 9 + [1000.0]) * 6, True),
    ],
)
def test_refusal_needs_the_capital_of_a_fair_game(estimates, refused):
    assert exceeds(estimates, 1.0) is refused


@pytest.mark.parametrize(
    ("game", "nodes", "abstraction"),
    [
        ("kuhn_poker", 58, None),
        ("leduc_poker", 9457, None),
        ("tic_tac_toe", 549946, None),
        ("breakthrough(rows=3,columns=2)", 69, lambda state, player: str(state)),
    ],
)
def test_forecasts_match_the_tree(game, nodes, abstraction):
    found = GameTree(game, abstraction=abstraction).forecast()
    assert np.mean(found.nodes) == pytest.approx(nodes, rel=0.35)
    assert not exceeds(found.nodes, nodes)


# --- whole trees ---------------------------------------------------------------


def test_refused_tree_returns_its_memory():
    tree = GameTree("liars_dice", max_memory=4 * MIB)
    with pytest.raises(MemoryBudgetError, match=r"fill max_memory=4,194,304 bytes"):
        tree.expand_all()
    assert (tree.num_nodes, tree.num_infosets, tree.num_sequences) == (1, 0, 2)
    assert tree.budget.taken < MIB / 2


# --- the growth of the process ---------------------------------------------------


@pytest.mark.parametrize(
    ("game", "name"), [("gomoku", "outcome_sampling"), ("tic_tac_toe", "cfr")]
)
def test_process_growth_stays_within_budget(game, name):
    size = 128 * MIB
    code = f"""
    import resource, time
    import mccfr_spiel as ms
    from mccfr_spiel.common.memory import resident
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    algorithm = ms.ALGORITHMS[{name!r}]
    warm = ms.Solver("leduc_poker", algorithm, max_memory="8MB")
    warm.iterate(300)  # compiles, and drops nodes
    before, end = resident(), time.monotonic() + 600
    try:
        solver = ms.Solver({game!r}, algorithm, max_memory={size})
        while time.monotonic() < end:
            solver.iterate(1)
    except ms.MemoryBudgetError as error:
        # Not ru_maxrss, which a process inherits from its parent.
        status = open("/proc/self/status").read()
        print(int(status.split("VmHWM:")[1].split()[0]) * 1024 - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert size / 4 < int(done.stdout) < 1.1 * size


# --- every door ------------------------------------------------------------------


DOORS = [
    lambda game, size: GameTree(game, max_memory=size).expand_all(),
    lambda game, size: Solver(game, ms.CFR, max_memory=size),
    lambda game, size: ms.nash_conv(game, {}, max_memory=size),
    lambda game, size: ms.exploitability(game, {}, max_memory=size),
    lambda game, size: ms.expected_returns(game, {}, max_memory=size),
    lambda game, size: ms.evaluation.best_response_policy(game, {}, 0, max_memory=size),
    lambda game, size: ms.offline.sequence_form(game, max_memory=size),
    lambda game, size: ms.solve_lp(game, max_memory=size),
    lambda game, size: ms.offline.write_mps(game, "/nowhere/at/all", max_memory=size),
]


@pytest.mark.parametrize(
    ("door", "game"), [*zip(DOORS, itertools.cycle(["chess", "leduc_poker"]))]
)
def test_every_function_refuses_trees_that_do_not_fit(door, game):
    before = memory.resident()
    with pytest.raises(TreeFullError, match=r"max_memory|max_nodes") as error:
        door(
            game, 400_000 if game == "chess" else 40_000
        )  # Leduc fits as an arena of hands
    assert game in str(error.value)
    assert memory.resident() - before < 50 * MIB


def test_policies_and_programs_are_counted(monkeypatch):
    monkeypatch.setattr("mccfr_spiel.arenas.tree.expansion.resident", lambda: 0)
    tree = GameTree("leduc_poker", max_memory="3MB").expand_all()
    form = ms.offline.sequence_form(tree)
    with pytest.raises(MemoryBudgetError, match=r"8,042 nonzeros.*max_memory"):
        ms.solve_lp(form)
    tree.budget.record("other", tree.budget.left - 1000)
    with pytest.raises(MemoryBudgetError, match="Reading the policy"):
        ms.nash_conv(tree, {})


# --- the command line's settings --------------------------------------------------


def test_run_with_full_memory_resumes_with_more_memory(tmp_path):
    program = pathlib.Path(__file__).parents[2] / "run_experiments.py"
    command = [sys.executable, str(program), "--game=gomoku(size=8)"]
    command += ["--algorithm=outcome_sampling", "--evaluate=none", "--print_freq=10"]
    command += [f"--output_dir={tmp_path}", "--iterations=100000"]
    too_little = subprocess.run(
        [*command, "--max_memory=1MB"], capture_output=True, text=True
    )
    taken = re.search(r"the program itself uses (\d+) MB", too_little.stderr)
    assert taken is not None, too_little.stderr
    least = int(taken[1]) * 10**6
    first = subprocess.run(
        [*command, f"--max_memory={least + 60 * MIB}"], capture_output=True, text=True
    )
    assert first.returncode == 1
    assert "infosets of gomoku" in first.stderr
    assert "--resume --max_memory" in first.stderr
    files = {path.name for path in tmp_path.iterdir()}
    assert {"results.csv", "solver.checkpoint", "settings.json"} <= files
    assert {"policy.json", "policy.bin"} & files
    rows = (tmp_path / "results.csv").read_text().splitlines()
    second = subprocess.run(
        [*command, "--resume", f"--max_memory={least + 120 * MIB}"],
        capture_output=True,
        text=True,
    )
    assert "Resumed after" in second.stdout
    assert "infosets of gomoku" in second.stderr
    again = (tmp_path / "results.csv").read_text().splitlines()
    assert len(again) > len(rows) > 2
    assert again[1 : len(rows)] == rows[1:]


# --- games that do not end -------------------------------------------------------


class EndlessState(small_games._SmallState):
    """Two players move in turns forever."""

    def current_player(self):
        return len(self.history()) % 2

    def _apply_action(self, action):
        pass

    def information_state_string(self, player=None):
        return self.history_str()

    def __str__(self):
        return self.history_str()


def endless_game(moves, monkeypatch):
    """A game without an end that declares twenty moves of players and twenty of
    chance."""
    monkeypatch.setattr(small_games, "_SmallState", EndlessState)
    return small_game(move(0, "", *[leaf(0.0, 0.0)] * moves), name="test_endless")


@pytest.mark.parametrize(
    ("name", "moves"), [("cfr", 1), ("external_sampling", 2), ("outcome_sampling", 1)]
)
def test_endless_game_is_refused_within_seconds(name, moves, monkeypatch):
    Solver("kuhn_poker", ms.ALGORITHMS[name]).iterate(1)  # compiles
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"max_game_length|visits far more") as error:
        Solver(endless_game(moves, monkeypatch), ms.ALGORITHMS[name]).iterate(1)
    assert time.monotonic() - began < 5
    if name == "outcome_sampling":
        assert "se outcome sampling" not in str(error.value)
    if name != "external_sampling":
        assert "does not end" in str(error.value)
        assert "allow at most 40" in str(error.value)
