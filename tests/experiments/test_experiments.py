"""Settings: what names mean, what is written down, and when rows are due."""

import dataclasses
import itertools
import json
import pathlib
from typing import Any, cast

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms
from mccfr_spiel.experiments import Settings, named_settings
from mccfr_spiel.experiments.algorithm_names import (
    AVERAGINGS,
    METHODS,
    MINIMIZERS,
    SAMPLINGS,
    name_of,
)
from mccfr_spiel.experiments.dues import row_dues
from mccfr_spiel.experiments.flags import Flags, flags_of
from mccfr_spiel.experiments.results import default_folder
from mccfr_spiel.experiments.resuming import resumed_flags
from mccfr_spiel.experiments.settings import algorithm_name
from mccfr_spiel.experiments.settings_files import read_settings, write_settings
from mccfr_spiel.offline import methods as offline


@pytest.mark.parametrize("name", METHODS)
def test_a_named_algorithm_keeps_its_name(name):
    assert algorithm_name(named_settings(algorithm=name)) == name
    assert Settings(algorithm=name) == named_settings(algorithm=name)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"sampling": "outcome"}, "outcome_sampling"),
        ({"sampling": "outcome", "minimizer": "ftrl"}, "outcome_ftrl"),
        (
            {"sampling": "outcome", "epsilon": 0.4, "minimizer": "omd"},
            "outcome_epsilon=0.4_omd",
        ),
        ({"algorithm": "ftrl", "step_size": 0.5}, "external_ftrl_step_size=0.5"),
        ({"algorithm": "cfr_plus", "averaging": "uniform"}, "cfr_plus_uniform"),
        ({"algorithm": "cfr", "alternating": False}, "cfr_simultaneous"),
        ({"algorithm": "mirror_prox", "step_size": 2.0}, "mirror_prox_step_size=2"),
        ({"algorithm": "lp", "method": "interior_point"}, "lp_interior_point"),
        ({"algorithm": "lp", "time_limit": 3.0}, "lp"),
    ],
)
def test_another_algorithm_is_named_by_what_is_run(changes, name):
    settings = named_settings(game="kuhn_poker", **changes)
    assert algorithm_name(settings) == name
    folder = default_folder(settings, "results")
    assert folder.name == f"kuhn_poker_{name}_seed0"


def test_two_algorithms_never_have_one_name():
    names, refused = {}, 0
    for name, sampling, minimizer, averaging, alternating in itertools.product(
        algorithms.ALGORITHMS,
        (None, *SAMPLINGS),
        (None, *MINIMIZERS),
        (None, *AVERAGINGS),
        (None, True, False),
    ):
        parts: dict[str, Any] = {
            "algorithm": name,
            "sampling": sampling,
            "minimizer": minimizer,
            "averaging": averaging,
            "alternating": alternating,
        }
        rule = MINIMIZERS.get(minimizer or "") or algorithms.ALGORITHMS[name].minimizer
        of_name = algorithms.ALGORITHMS[name].sampling
        estimator = SAMPLINGS[sampling] if sampling else of_name
        if rule.moves_everywhere and estimator != algorithms.FULL:
            with pytest.raises(ValueError, match="moves the policy everywhere"):
                named_settings(**parts)
            refused += 1
            continue
        settings = named_settings(**parts)
        known = names.setdefault(algorithm_name(settings), settings.algorithm)
        assert known == settings.algorithm
        assert named_settings(**flags_of(settings)) == settings
    assert refused > 0
    # Of every sampling with every default rule, every average, in turn or not.
    whole = sum(rule.moves_everywhere for rule in MINIMIZERS.values())
    assert len(names) >= (7 * len(MINIMIZERS) - 6 * whole) * 3 * 2
    assert len(set(names.values())) == len(names)


def test_the_folder_of_a_long_game_still_names_algorithm_and_seed():
    game = pyspiel.hulh_game_string("fcpa")
    names = set()
    for one in (game, game.replace("blind=10 5", "blind=20 5")):
        for seed in (0, 1):
            settings = Settings(one, ms.OUTCOME_SAMPLING, seed=seed)
            name = default_folder(settings).name
            assert name.endswith(f"_outcome_sampling_seed{seed}")
            assert len(name) <= 120
            names.add(name)
    assert len(names) == 4


def test_settings_on_disk_tell_what_is_run(tmp_path):
    path = tmp_path / "settings.json"
    settings = Settings(algorithm=ms.Algorithm(ms.OUTCOME, ms.ftrl(1.0)))
    write_settings(path, settings)
    assert '"name": "outcome_ftrl"' in path.read_text()
    assert read_settings(path) == settings


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        (ms.CFR._replace(averaging=ms.polynomial(1.5)), "cfr_gamma=1.5"),
        (
            ms.EXTERNAL_SAMPLING._replace(
                sampling=algorithms.Sampling(
                    chance=False, opponents=True, player="epsilon", epsilon=0.3
                )
            ),
            "opponents+epsilon_epsilon=0.3_regret_matching",
        ),
        (
            ms.Algorithm(ms.outcome(0.4), ms.omd(2.0, weights="kroer"), ms.LINEAR),
            "outcome_epsilon=0.4_omd_step_size=2_kroer_linear",
        ),
        (
            ms.Algorithm(ms.FULL, ms.regret_matching_plus(initial_regret=0.5)),
            "full_regret_matching_plus_random_initial_regrets=0.5",
        ),
        (
            offline.SparsifiedProgramMethod(factorization="rank_one", time_limit=9.0),
            "sparsified_lp_rank_one",
        ),
    ],
)
def test_any_algorithm_has_a_name_and_survives_its_file(algorithm, name, tmp_path):
    """Those, too, whose parts have no names of their own."""
    settings = Settings("kuhn_poker", algorithm, until_nash_conv=0.5)
    if not settings.is_resumable:
        settings = settings._replace(until_nash_conv=None)
    assert name_of(algorithm) == name
    write_settings(tmp_path / "settings.json", settings)
    assert read_settings(tmp_path / "settings.json") == settings


OLD = pathlib.Path(__file__).with_name("settings_of_version_0_1.json")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            "parts",
            Settings(
                "leduc_poker",
                ms.Algorithm(ms.outcome(0.4), ms.ftrl(0.5)),
                iterations=300,
            ),
        ),
        (
            "players",
            Settings(
                "kuhn_poker(players=3)",
                ms.CFR_PLUS._replace(averaging=ms.UNIFORM, alternating=False),
                iterations=50,
            ),
        ),
        (
            "linear program",
            Settings(
                "kuhn_poker",
                offline.SparsifiedProgramMethod("interior_point", "rank_one", 60.0),
            ),
        ),
        (
            "nodes touched",
            Settings(
                "leduc_poker",
                ms.Algorithm(ms.EXTERNAL, ms.ftrl(1.0, weights="kroer")),
                until_nodes_touched=20_000,
                print_freq=4000,
                max_memory="8GiB",
            ),
        ),
    ],
)
def test_settings_of_version_0_1_are_read(run, expected, tmp_path):
    """The file has what version 0.1 wrote for four runs, flat fields mostly null."""
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(json.loads(OLD.read_text())[run]))
    assert read_settings(path) == expected


def test_flags_of_a_resumed_run_may_be_repeated_but_not_changed(tmp_path):
    """Only the limits of the run may change; what is run stays as it was described."""
    run = json.loads(OLD.read_text())["parts"]
    (tmp_path / "settings.json").write_text(json.dumps(run))
    stored = run["settings"]
    same: Flags = {"sampling": "outcome", "step_size": 0.5, "iterations": 900}
    found = resumed_flags(tmp_path, same, {})
    added = dict.fromkeys(found.keys() - stored.keys())  # flags newer than the file
    assert found == stored | {"iterations": 900} | added
    for name, value in {"seed": 1, "sampling": "external", "players": 3}.items():
        with pytest.raises(ValueError, match=f"has {name}={stored[name]}, not {value}"):
            resumed_flags(tmp_path, cast(Flags, {name: value}), {})
    assert stored["game"] == "leduc_poker"
    for given in ({"players": 2}, {"game": "leduc_poker(players=2)"}):
        assert resumed_flags(tmp_path, cast(Flags, given), {}) == stored | added


def test_a_name_has_no_default_that_the_value_does_not_have():
    assert named_settings() == Settings()
    for field in dataclasses.fields(Settings):
        assert getattr(named_settings(), field.name) == field.default


def test_what_is_no_algorithm_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"algorithm='crf' is none of cfr, pruned"):
        Settings(algorithm="crf")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="is not an Algorithm"):
        Settings(algorithm=ms.FULL)  # pyright: ignore[reportArgumentType]


# --- when rows are due -----------------------------------------------------------


@pytest.mark.parametrize("per_decade", [1, 3, 5, 10, 33, 100, 1000])
@pytest.mark.parametrize("rows_from", [1, 2, 10, 99, 1000])
def test_rows_are_due_at_rounded_powers(per_decade, rows_from):
    settings = Settings(
        rows_per_decade=per_decade, rows_from=rows_from, iterations=100_001
    )
    powers = {round(10 ** (k / per_decade)) for k in range(5 * per_decade + 1)}
    expected = sorted(power for power in powers if power >= rows_from)
    assert list(row_dues(settings)) == [*expected, 100_001]


@pytest.mark.parametrize("per_decade", [10**9, 10**15, 10**30, 10**400])
def test_many_rows_in_a_decade_are_one_an_iteration(per_decade):
    for start in (1, 10**6):
        settings = Settings(rows_per_decade=per_decade, rows_from=start)
        dues = list(itertools.islice(row_dues(settings), 1000))
        assert dues == list(range(start, start + 1000))
