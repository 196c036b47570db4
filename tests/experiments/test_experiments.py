"""Settings: what names mean, what is written down, and when rows are due."""

import dataclasses
import itertools
import json
import pathlib
from typing import cast

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from mccfr_spiel import algorithms
from mccfr_spiel.experiments import Settings, named_settings, panels, resuming, runs
from mccfr_spiel.experiments.algorithm_names import (
    AVERAGINGS,
    METHODS,
    MINIMIZERS,
    SAMPLINGS,
    name_of,
)
from mccfr_spiel.experiments.dues import row_dues
from mccfr_spiel.experiments.flags import DEFAULT, Flags, flags_of
from mccfr_spiel.experiments.plotting import convergence_figure, legend_name
from mccfr_spiel.experiments.results import default_folder, row_writer
from mccfr_spiel.experiments.resuming import resumed_flags
from mccfr_spiel.experiments.screen import format_row, header
from mccfr_spiel.experiments.settings import algorithm_name
from mccfr_spiel.experiments.settings_files import (
    description,
    read_settings,
    write_settings,
)
from mccfr_spiel.offline import methods as offline
from mccfr_spiel.storage.row_file import read_whole_table


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


@pytest.mark.plain
def test_two_algorithms_never_have_one_name():
    names = {}

    def go_together(sampling, minimizer):
        if sampling.prunes_by_regret:
            return minimizer.rule == "regret_matching"
        return sampling == ms.FULL or not minimizer.moves_everywhere

    for name, sampling, minimizer, averaging, alternating in itertools.product(
        algorithms.ALGORITHMS,
        (None, *SAMPLINGS),
        (None, *MINIMIZERS),
        (None, *AVERAGINGS),
        (None, True, False),
    ):
        chosen = algorithms.ALGORITHMS[name]
        sampled = chosen.sampling if sampling is None else SAMPLINGS[sampling]
        moved = chosen.minimizer if minimizer is None else MINIMIZERS[minimizer]
        if not go_together(sampled, moved):
            continue
        settings = named_settings(
            algorithm=name,
            sampling=sampling,
            minimizer=minimizer,
            averaging=averaging,
            alternating=alternating,
        )
        known = names.setdefault(algorithm_name(settings), settings.algorithm)
        assert known == settings.algorithm
        assert named_settings(**flags_of(settings)) == settings
    expected = {
        ms.Algorithm(sampling, minimizer, averaging, alternating)
        for sampling, minimizer, averaging, alternating in itertools.product(
            SAMPLINGS.values(), MINIMIZERS.values(), AVERAGINGS.values(), (True, False)
        )
        if go_together(sampling, minimizer)
    }
    assert expected < {*names.values()}
    assert len({*names.values()}) == len(names)


@pytest.mark.parametrize(
    ("flags", "name", "algorithm"),
    [
        (
            {"algorithm": "hs_dcfr", "horizon": 500},
            "hs_dcfr_horizon=500_gamma=30",
            algorithms.hs_dcfr(500),
        ),
        (
            {"algorithm": "hs_pcfr_plus", "iterations": 700, "gamma": 8.0},
            "hs_pcfr_plus_horizon=700_gamma=8",
            algorithms.hs_pcfr_plus(700, gamma=8.0),
        ),
        (
            {"algorithm": "hs_dcfr", "horizon": 9, "alternating": False},
            "hs_dcfr_horizon=9_gamma=30_simultaneous",
            algorithms.hs_dcfr(9)._replace(alternating=False),
        ),
        (
            {"algorithm": "hs_dcfr", "horizon": 9, "averaging": "linear"},
            "full_discounted_regret_matching_alpha=1_beta=-1_alpha_change=3_"
            "beta_change=-2_horizon=9_linear",
            algorithms.hs_dcfr(9)._replace(averaging=ms.LINEAR),
        ),
        (
            {"algorithm": "dcfr", "alpha": 2.0, "beta": -0.5, "gamma": 3.5},
            "full_discounted_regret_matching_alpha=2_beta=-0.5_gamma=3.5",
            ms.Algorithm(
                ms.FULL,
                algorithms.discounted_regret_matching(2.0, -0.5),
                ms.polynomial(3.5),
            ),
        ),
        (
            {"algorithm": "dcfr", "sampling": "external"},
            "external_discounted_regret_matching_quadratic",
            ms.DCFR._replace(sampling=ms.EXTERNAL),
        ),
        (
            {"algorithm": "pcfr_plus", "prediction": 0.25, "gamma": 2.0},
            "full_predictive_regret_matching_plus_prediction=0.25_quadratic",
            ms.PCFR_PLUS._replace(
                minimizer=algorithms.predictive_regret_matching_plus(0.25)
            ),
        ),
        (
            {"sampling": "full", "minimizer": "mmd", "temperature": 0.1},
            "full_mmd_temperature=0.1",
            ms.Algorithm(ms.FULL, algorithms.magnetic_mirror_descent(1.0, 0.1)),
        ),
        ({"algorithm": "cfr", "gamma": 1.0}, "cfr_linear", None),
        ({"algorithm": "pdcfr_plus", "gamma": 5.0}, "pdcfr_plus", ms.PDCFR_PLUS),
    ],
)
def test_the_newer_rules_have_flags_names_and_files(flags, name, algorithm, tmp_path):
    settings = named_settings(game="kuhn_poker", **flags)
    assert algorithm in (None, settings.algorithm)
    assert algorithm_name(settings) == name
    assert named_settings(**flags_of(settings)) == settings
    write_settings(tmp_path / "settings.json", settings)
    assert read_settings(tmp_path / "settings.json") == settings


def test_a_resumed_schedule_keeps_its_horizon_when_it_gets_more_iterations(tmp_path):
    flags: Flags = {"algorithm": "hs_dcfr", "iterations": 300, "game": "kuhn_poker"}
    about = description(named_settings(**flags), flags)
    (tmp_path / "settings.json").write_text(json.dumps(about))
    longer: Flags = {"algorithm": "hs_dcfr", "iterations": 900}
    resumed = named_settings(**resumed_flags(tmp_path, longer, {}))
    assert resumed.iterations == 900
    assert resumed.algorithm == algorithms.hs_dcfr(300)
    assert Settings("kuhn_poker", "hs_dcfr", iterations=40).algorithm == (  # pyright: ignore[reportArgumentType]
        algorithms.hs_dcfr(40)
    )


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
    assert found == {**DEFAULT, **stored, "iterations": 900}
    for name, value in {"seed": 1, "sampling": "external", "players": 3}.items():
        with pytest.raises(ValueError, match=f"has {name}={stored[name]}, not {value}"):
            resumed_flags(tmp_path, cast(Flags, {name: value}), {})
    assert stored["game"] == "leduc_poker"
    for given in ({"players": 2}, {"game": "leduc_poker(players=2)"}):
        found = resumed_flags(tmp_path, cast(Flags, given), {})
        assert found == {**DEFAULT, **stored}


def test_a_name_has_no_default_that_the_value_does_not_have():
    assert named_settings() == Settings()
    for field in dataclasses.fields(Settings):
        assert getattr(named_settings(), field.name) == field.default


def test_what_is_no_algorithm_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"algorithm='crf' is none of cfr, pruned"):
        Settings(algorithm="crf")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="is not an Algorithm"):
        Settings(algorithm=ms.FULL)  # pyright: ignore[reportArgumentType]


# --- the current policy ----------------------------------------------------------


def test_rows_have_the_nash_conv_of_the_current_policy_if_asked_for(tmp_path):
    settings = Settings("kuhn_poker", ms.PCFR_PLUS, iterations=50, evaluate_last=True)
    solver, rows = runs.run(settings)
    assert isinstance(solver, ms.Solver)
    current = openspiels_nash_conv(solver.current_policy())
    assert rows[-1]["last_nash_conv"] == pytest.approx(current, abs=1e-12)
    average = openspiels_nash_conv(solver.average_policy())
    assert rows[-1]["nash_conv"] == pytest.approx(average, abs=1e-12)
    assert current != pytest.approx(average)
    _, plain = runs.run(settings._replace(evaluate_last=False))
    assert [row["last_nash_conv"] for row in plain] == [None] * len(rows)
    assert "last NashConv" in header(settings)
    assert f"{current:.6g}" in format_row(rows[-1])
    path = tmp_path / "results.csv"
    row_writer(path, rows).close()
    axes = convergence_figure({"PCFR+": path}).axes[0]
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["PCFR+", "current policy of PCFR+"]
    lows = axes.lines[1].get_ydata()
    assert lows == pytest.approx([row["last_nash_conv"] for row in rows])
    kept = resuming.read_rows(path, settings, solver).rows
    assert kept == rows
    old = path.read_text().replace("last_nash_conv", "something_else")
    path.write_text(old)
    older = resuming.read_rows(path, settings, solver).rows
    assert [row["nash_conv"] for row in older] == [row["nash_conv"] for row in rows]


def openspiels_nash_conv(policy):
    theirs = exploitability.nash_conv(policy.game, policy.to_tabular())
    return cast(float, theirs)


def test_a_summary_has_the_mean_over_seeds_of_the_current_policys(tmp_path):
    settings = Settings(
        "kuhn_poker", ms.EXTERNAL_SAMPLING, iterations=10, evaluate_last=True
    )
    curve = panels.Curve("external", settings)
    experiment = panels.Experiment((panels.Panel("Kuhn", (curve,), 58),), seeds=2)
    gaps = []
    for name, one in panels.sweep(experiment).items():
        _, rows = runs.run(one)
        row_writer(tmp_path / f"{name}.csv", rows).close()
        gaps.append(rows[-1]["last_nash_conv"])
    table = read_whole_table(panels.summarize(experiment, tmp_path)).rows
    assert float(table[-1]["last_nash_conv"]) == pytest.approx(sum(gaps) / 2)


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pdcfr_plus", "PDCFR+"),
        ("hs_dcfr", "HS-DCFR"),
        ("hs_pcfr_plus", "HS-PCFR+"),
        ("external_sampling", "external sampling"),
        ("my_plus", "my_plus"),
    ],
)
def test_legends_have_the_names_of_the_literature(name, shown):
    assert legend_name(name) == shown
