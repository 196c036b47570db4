"""Random games and random bytes.

    FUZZ_EXAMPLES=1000 python -m pytest tests/test_fuzz.py

runs a thousand examples of each test instead of a few.
"""

import contextlib
import io
import json
import os
import pathlib
import random
import tempfile
import zipfile

import hypothesis
import numpy as np
import pyspiel
import pytest
from hypothesis import strategies
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel import GameTree, Solver
from mccfr_spiel.arenas.tree.game_tree import TreeFullError
from mccfr_spiel.common import checkpoint
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.experiments import read_settings
from mccfr_spiel.experiments.settings import DEFAULT, SETTINGS, check
from mccfr_spiel.offline.linear_program import solve_lp
from tests.kernels.test_estimators import ESTIMATORS, expectation, with_zeros
from tests.reference import full_gradient, random_policy
from tests.small_games import chance, leaf, move, small_game
from tests.vectors import largest_difference, vector_of

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "30"))


def fuzz(share=1.0):
    return hypothesis.settings(
        deadline=None,
        max_examples=max(int(share * EXAMPLES), 1),
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.data_too_large,
        ],
        derandomize="FUZZ_EXAMPLES" not in os.environ,
    )


PAYOFFS = strategies.integers(-40, 40).map(lambda number: number / 8)


@strategies.composite
def trees(draw, num_players, zero_sum, most_leaves):
    """The root of a random game.

    A player's information-state string is all its past, its own moves included, and an
    observation of three: so histories share information sets and nobody forgets.
    """
    leaves_left = most_leaves

    def end():
        payoffs = draw(
            strategies.lists(PAYOFFS, min_size=num_players, max_size=num_players)
        )
        if zero_sum:
            payoffs[-1] = -sum(payoffs[:-1])
        return leaf(*payoffs)

    def grow(depth, pasts):
        nonlocal leaves_left
        kinds = ["end", "chance", "move", "move", "move", "move"]
        kind = "move"
        if depth:
            kind = draw(strategies.sampled_from(kinds))
        if kind == "end" or depth == 6 or leaves_left < 2:
            return end()
        width = draw(strategies.integers(1, min(3, leaves_left)))
        leaves_left -= width - 1
        if kind == "chance":
            weights = draw(
                strategies.lists(
                    strategies.integers(1, 9), min_size=width, max_size=width
                )
            )
            below = [grow(depth + 1, pasts) for _ in range(width)]
            probs = [weight / sum(weights) for weight in weights]
            return chance(*zip(probs, below, strict=True))
        player = draw(strategies.integers(0, num_players - 1))
        seen = draw(strategies.integers(0, 2))
        name = f"{pasts[player]} sees {seen} of {width}"
        below = []
        for action in range(width):
            mine = [*pasts]
            mine[player] = f"{name}, {action};"
            below.append(grow(depth + 1, mine))
        return move(player, name, *below)

    return grow(0, [f"{player}:" for player in range(num_players)])


@strategies.composite
def games(draw, players=(2, 3, 4), zero_sum=False, most_leaves=12):
    num_players = draw(strategies.sampled_from(players))
    root = draw(trees(num_players, zero_sum, most_leaves))
    utility = pyspiel.GameType.Utility.GENERAL_SUM
    if zero_sum:
        utility = pyspiel.GameType.Utility.ZERO_SUM
    return small_game(root, num_players, name="random", utility=utility)


SEEDS = strategies.integers(0, 10**6)


@fuzz()
@hypothesis.given(games(), SEEDS)
def test_every_estimators_expectation_is_the_full_gradient(game, seed):
    policy = random_policy(game, seed)
    if seed % 2:
        policy = with_zeros(policy, seed)
    with pytest.MonkeyPatch.context() as patch:
        for player in range(game.num_players()):
            exact = full_gradient(game, policy, player)
            for sampling in ESTIMATORS.values():
                # The ways to pick some actions at each infoset are many.
                if sampling.player == "average" and seed % 8:
                    continue
                mean, _ = expectation(game, sampling, policy, player, patch)
                assert mean == pytest.approx(exact, abs=1e-12)


@fuzz()
@hypothesis.given(games(most_leaves=60), SEEDS)
def test_nash_conv_and_returns_are_openspiels(game, seed):
    tree = GameTree(game).expand_all()
    policy = ms.SequencePolicy(tree, vector_of(tree, random_policy(game, seed)))
    theirs = exploitability.nash_conv(game, policy, use_cpp_br=False)
    assert ms.nash_conv(tree, policy) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.compiled
@fuzz()
@hypothesis.given(games((2,), zero_sum=True, most_leaves=60))
def test_cfr_plus_approaches_the_value_of_the_linear_program(game):
    solution = solve_lp(game)
    gap = exploitability.nash_conv(game, solution.policy, use_cpp_br=False)
    assert isinstance(gap, float)
    assert gap < 1e-9  # so its value is the game's
    solver = Solver(game, ms.CFR_PLUS)
    before = float("inf")
    for iterations in (100, 1900):
        solver.iterate(iterations)
        average = solver.average_policy()
        after = ms.nash_conv(game, average)
        assert abs(ms.expected_returns(game, average)[0] - solution.value) <= (
            after + 1e-9
        )
        assert after <= before + 1e-9
        before = after
    assert after < 0.01 * np.ptp(solver.tree.utilities[:, 0]) + 1e-9


@pytest.mark.compiled
@fuzz(0.5)
@hypothesis.given(games(most_leaves=60), SEEDS)
def test_growth_drops_and_checkpoints_change_nothing(game, seed):
    for sampling in (ms.EXTERNAL, ms.OUTCOME, ms.CHANCE, ms.OPPONENT):
        algorithm = ms.Algorithm(sampling, ms.regret_matching(), ms.LINEAR)
        whole = Solver(GameTree(game).expand_all(), algorithm, seed=seed)
        grown = Solver(game, algorithm, seed=seed)
        most = whole.tree.num_nodes * 2 // 3 + 1
        try:
            Solver(game, algorithm, seed=seed, max_nodes=most).iterate(15)
        except TreeFullError:  # one walk needs more
            most = whole.tree.num_nodes
        dropped = Solver(game, algorithm, seed=seed, max_nodes=most)
        for _ in range(3):
            whole.iterate(5)
            grown.iterate(5)
            dropped.iterate(5)
            data = checkpoint.to_bytes(dropped.contents())
            dropped = Solver.from_contents(checkpoint.from_bytes(data), game)
            for other in (grown, dropped):
                policy = other.average_policy().to_dict()
                assert not largest_difference(policy, whole.average_policy().to_dict())
                assert other.nodes_touched == whole.nodes_touched


# --- random bytes --------------------------------------------------------------

BYTES = strategies.binary(max_size=3000)


def scribbled(data, generator):
    """A copy with some random bytes."""
    data = bytearray(data)
    for _ in range(generator.randrange(1, 4)):
        start = generator.randrange(len(data))
        count = generator.choice((1, 1, 8, 100))
        data[start : start + count] = generator.randbytes(count)
    return bytes(data)


def scribbled_inside(data, generator):
    """A file of ours with random bytes in one of its arrays and checksums that fit."""
    magic, inside = data.split(b"\n", 1)
    changed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(inside)) as archive,
        zipfile.ZipFile(changed, "w") as copy,
    ):
        names = archive.namelist()
        chosen = generator.choice(names)
        for name in names:
            member = archive.read(name)
            copy.writestr(
                name, scribbled(member, generator) if name == chosen else member
            )
    return magic + b"\n" + changed.getvalue()


@fuzz()
@hypothesis.given(BYTES)
def test_random_bytes_are_refused(data):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "solver"
        for content in (data, checkpoint.MAGIC + data, b"PK\3\4" + data):
            path.write_bytes(content)
            for load in (Solver.load, Solver.load_newest):
                with pytest.raises(CheckpointError):
                    load(path)


@fuzz()
@hypothesis.given(SEEDS)
def test_a_checkpoint_with_odd_arrays_and_right_checksums_is_safe(seed):
    # It may be loaded where the bytes are numbers of tables; else it is refused.
    generator = random.Random(seed)
    solver = Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    solver.iterate(3)
    data = scribbled_inside(checkpoint.to_bytes(solver.contents()), generator)
    try:
        loaded = Solver.from_contents(checkpoint.from_bytes(data), None)
    except ValueError:
        return
    loaded.average_policy().to_dict()


def policy_file(folder):
    path = pathlib.Path(folder) / "policy"
    tree = GameTree("kuhn_poker").expand_all()
    probs = random_policy("kuhn_poker", 1)
    ms.SequencePolicy(tree, vector_of(tree, probs)).save(path)
    return path


@fuzz()
@hypothesis.given(BYTES)
def test_random_bytes_are_no_policy(data):
    magic = checkpoint.POLICY.magic
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "policy"
        for content in (data, magic + data, b"PK\3\4" + data):
            path.write_bytes(content)
            with pytest.raises(CheckpointError):
                ms.SequencePolicy.load(path)


@fuzz(3)
@hypothesis.given(SEEDS)
def test_a_changed_policy_file_is_refused_and_with_right_checksums_safe(seed):
    # It may be loaded where the bytes are probabilities or names; else it is refused.
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = policy_file(folder)
        good = path.read_bytes()
        before = ms.SequencePolicy.load(path).to_dict()
        path.write_bytes(scribbled(good, generator))
        with contextlib.suppress(CheckpointError):  # or bytes that mean nothing
            assert ms.SequencePolicy.load(path).to_dict() == before
        path.write_bytes(scribbled_inside(good, generator))
        try:
            policy = ms.SequencePolicy.load(path)
        except ValueError:
            return
    policy.to_dict()
    policy.to_tabular()
    state = policy.game.new_initial_state().child(0).child(1)
    try:
        probabilities = policy.action_probabilities(state)
    except ValueError as error:
        words = str(error)
    else:
        words = "rules" if abs(sum(probabilities.values()) - 1) < 1e-6 else ""
    assert "rules" in words


JSON = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=5),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = strategies.sampled_from(list(SETTINGS))


def reads_or_says_why(content):
    """Settings come in their types, or there is an error in words."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "settings.json"
        path.write_bytes(content)
        try:
            settings = read_settings(str(path))
        except ValueError as error:
            words = str(error)
        else:
            words = str(path)
            assert type(settings.iterations) is int
            assert type(settings.game) is str
            with contextlib.suppress(ValueError):
                check(settings)
        assert str(path) in words


@fuzz(5)
@hypothesis.given(strategies.dictionaries(FIELDS | strategies.text(max_size=5), JSON))
def test_settings_of_any_values_are_read_or_refused_in_words(values):
    reads_or_says_why(json.dumps({"settings": values}).encode())


@fuzz(5)
@hypothesis.given(BYTES | JSON.map(lambda value: json.dumps(value).encode()), SEEDS)
def test_settings_of_any_bytes_are_read_or_refused_in_words(data, seed):
    reads_or_says_why(data)
    reads_or_says_why(b"[" * 100_000 + data)
    good = {"settings": {**DEFAULT}}
    reads_or_says_why(scribbled(json.dumps(good).encode(), random.Random(seed)))
