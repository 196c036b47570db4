"""OpenSpiel's tests and examples pass with our classes in place of its solvers."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import types
import unittest

import numpy as np
import open_spiel.python.algorithms.cfr as openspiel_cfr
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr_br, discounted_cfr

import mccfr_spiel as ms
from mccfr_spiel import drop_in

ALGORITHMS = pathlib.Path(openspiel_cfr.__file__).parent
EXAMPLES = ALGORITHMS.parent / "examples"
ROOT = pathlib.Path(__file__).parent.parent

OURS = types.SimpleNamespace(
    CFRSolver=ms.CFRSolver,
    CFRPlusSolver=ms.CFRPlusSolver,
    _CFRSolver=drop_in._CFRSolver,
    ExternalSamplingSolver=ms.ExternalSamplingSolver,
    OutcomeSamplingSolver=ms.OutcomeSamplingSolver,
    AverageType=ms.AverageType,
    DCFRSolver=ms.DCFRSolver,
    LCFRSolver=ms.LCFRSolver,
    CFRBRSolver=ms.CFRBRSolver,
)
FILES = [
    *("external_sampling_mccfr", "outcome_sampling_mccfr"),
    *("cfr", "cfr_br", "discounted_cfr"),
]
NOT_ABOUT_THESE_CLASSES = {
    "test__update_current_policy": "calls a private function of OpenSpiel's cfr.py",
    "test_cce_dist_kuhn_3p_cpp": "runs pyspiel's solver only",
    "test_cce_dist_sheriff_cpp": "runs pyspiel's solver only",
    "cfr_br-test_policy_and_average_policy": "300 iterations are within its tolerance "
    "only by how OpenSpiel rounds a regret of 0",
    **{
        f"test_cpp_and_python_cfr_br{number}": "takes its classes as it is imported"
        for number in range(4)
    },
}


def openspiels_tests():
    """The test methods of OpenSpiel's files, with our classes instead of the imported
    ones."""
    for name in FILES:
        path = ALGORITHMS / f"{name}_test.py"
        spec = importlib.util.spec_from_file_location(f"openspiels_{name}_test", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert getattr(module, name).__name__.startswith("open_spiel.")
        setattr(module, name, OURS)
        for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
            assert isinstance(suite, unittest.TestSuite)
            for test in suite:
                assert isinstance(test, unittest.TestCase)
                method = test._testMethodName.split(" ")[0]
                label = f"{name}-{method}"
                if not {method, label} & {*NOT_ABOUT_THESE_CLASSES}:
                    yield pytest.param(test, id=label)


TESTS = list(openspiels_tests())


def test_openspiel_tests_are_found():
    names = [str(test.id) for test in TESTS]
    counts = [sum(name.startswith(f"{file}-") for name in names) for file in FILES]
    assert counts == [6, 3, 28, 4, 2]


@pytest.mark.parametrize("test", TESTS)
def test_openspiel_test_passes_on_our_class(test):
    result = unittest.TestResult()
    test.run(result)
    problems = [trace for _, trace in result.errors + result.failures]
    assert problems == []
    assert result.testsRun == 1


def run_example(name, replacements, folder, *flags):
    """Runs a copy of an OpenSpiel example with changed imports."""
    source = (EXAMPLES / name).read_text()
    for old, new in replacements.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    assert "mccfr_spiel" in source
    (folder / name).write_text(source)
    result = subprocess.run(
        [sys.executable, "-W", "error", name, *flags],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


CPP_IMPORTS = {
    "import pyspiel\n": "import pyspiel\nimport mccfr_spiel\n",
    "pyspiel.ExternalSamplingMCCFRSolver(": "mccfr_spiel.ExternalSamplingMCCFRSolver(",
    "pyspiel.OutcomeSamplingMCCFRSolver(": "mccfr_spiel.OutcomeSamplingMCCFRSolver(",
}


@pytest.mark.parametrize("sampling", ["outcome"])
def test_openspiel_example_of_compiled_solvers_runs(sampling, tmp_path):
    lines = run_example(
        "mccfr_cpp_example.py", CPP_IMPORTS, tmp_path, f"--sampling={sampling}"
    )
    # 25 iterations, two lines about the pickle and the exploitability, 25 iterations
    assert len(lines) == 53
    before = float(lines[24].split()[-1])
    assert float(lines[27].split()[-1]) == pytest.approx(before, abs=1e-6)
    assert (tmp_path / f"{sampling}_sampling_mccfr_solver.pickle").exists()


def test_constructor_arguments_equal_openspiels():
    game = pyspiel.load_game("kuhn_poker")
    full = pyspiel.MCCFRAverageType.FULL
    for solver in (
        ms.ExternalSamplingMCCFRSolver(game, 39823987, full),
        ms.ExternalSamplingMCCFRSolver(game, seed=3, avg_type=ms.AverageType.FULL),
        ms.OutcomeSamplingMCCFRSolver(game, 0.3, 7),
        ms.OutcomeSamplingMCCFRSolver(game, epsilon=0.3, seed=-1),
    ):
        for _ in range(3):
            solver.run_iteration()
        conv = pyspiel.nash_conv(game, solver.average_policy())
        assert 0 < conv < 11 / 6


def run(solver, iterations=20):
    for _ in range(iterations):
        solver.iteration()
    return solver.average_policy().to_dict()


PYTHONS = [ms.ExternalSamplingSolver, ms.OutcomeSamplingSolver]


@pytest.mark.parametrize("kind", PYTHONS)
def test_seed_argument_overrides_numpys_generator(kind):
    game = pyspiel.load_game("kuhn_poker")
    np.random.seed(1)
    first = run(kind(game, seed=0))
    np.random.seed(2)
    assert run(kind(game, seed=0)) == first != run(kind(game, seed=1))


@pytest.mark.parametrize("kind", PYTHONS)
def test_numpys_generator_seeds_the_run_by_default(kind):
    game = pyspiel.load_game("kuhn_poker")
    runs = []
    for seed in (1, 2, 3, 1):
        np.random.seed(seed)
        runs.append(run(kind(game)))
    assert runs[0] == runs[3]
    assert runs[0] != runs[1] != runs[2] != runs[0]
    second = run(kind(game))  # the generator has advanced
    assert second != runs[3]


# --- the methods of pyspiel's CFR solvers ------------------------------------

COMPILED = [("CFRPlusSolver", "cfrplus")]


@pytest.mark.parametrize(("name", "flag"), COMPILED)
def test_openspiel_example_of_compiled_cfr_prints_the_same(name, flag, tmp_path):
    imports = {
        "import pyspiel\n": "import pyspiel\nimport mccfr_spiel\n",
        f"pyspiel.{name}(": f"mccfr_spiel.{name}(",
    }
    mine = run_example("cfr_cpp_example.py", imports, tmp_path, f"--solver={flag}")
    assert len(mine) == 33
    game = pyspiel.load_game("kuhn_poker")
    theirs = getattr(pyspiel, name)(game)  # not pickled: pickles of CFR+ load as CFR
    lines = []
    for number in range(20):
        theirs.evaluate_and_update_policy()
        value = pyspiel.exploitability(game, theirs.average_policy())
        if number >= 10:
            lines.append(
                f"Tabular policy length: {len(theirs.tabular_average_policy())}"
            )
        lines.append(f"Iteration {number} exploitability: {value:.6f}")
        if number == 9:
            lines += ["Persisting the model...", "Loading the model..."]
            lines.append(f"Exploitability of the loaded model: {value:.6f}")
    assert mine == lines


@pytest.mark.parametrize("name", ["CFRSolver", "CFRPlusSolver"])
@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "leduc_poker"])
def test_every_pyspiel_method_returns_pyspiels_result(game, name):
    game = pyspiel.load_game(game)
    mine, theirs = getattr(ms, name)(game), getattr(pyspiel, name)(game)
    methods = {m for m in dir(theirs) if not m.startswith("_")}
    assert methods <= set(dir(mine))
    for _ in range(7):
        mine.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
    for method in methods - {"evaluate_and_update_policy"}:
        ours, its = getattr(mine, method)(), getattr(theirs, method)()
        if method.startswith("tabular"):
            assert type(ours) is type(its)
            table, expected = ours.policy_table(), its.policy_table()
            assert table.keys() == expected.keys()
            for key, row in expected.items():
                assert dict(table[key]) == pytest.approx(dict(row), abs=1e-12)
        conv = pyspiel.nash_conv(game, its)
        assert pyspiel.nash_conv(game, ours) == pytest.approx(conv, abs=1e-12)
        assert ms.nash_conv(game, ours) == pytest.approx(conv, abs=1e-12)


def test_compiled_functions_read_present_probabilities():
    game = pyspiel.load_game("kuhn_poker")
    policy = ms.CFRSolver(game).average_policy()
    assert pyspiel.nash_conv(game, policy) == pytest.approx(11 / 12)
    policy.policy_for_key("0pb")[:] = [1.0, 0.0]
    theirs = pyspiel.UniformRandomPolicy(game).policy_table()
    theirs["0pb"] = [(0, 1.0), (1, 0.0)]
    assert pyspiel.nash_conv(game, policy) == pyspiel.nash_conv(game, theirs)
    assert pyspiel.nash_conv(game, policy) < 0.9


@pytest.mark.parametrize(
    ("ours", "theirs", "more"),
    [
        (ms.DCFRSolver, discounted_cfr.DCFRSolver, ()),
        (ms.DCFRSolver, discounted_cfr.DCFRSolver, (2, 1, 3)),
        (ms.LCFRSolver, discounted_cfr.LCFRSolver, ()),
        (ms.CFRBRSolver, cfr_br.CFRBRSolver, (True, True)),
    ],
)
def test_discounts_and_best_responses_equal_openspiels(ours, theirs, more):
    game = pyspiel.load_game("kuhn_poker")
    mine, other = ours(game, *more), theirs(game, *more)
    for _ in range(12):
        mine.evaluate_and_update_policy()
        other.evaluate_and_update_policy()
    np.testing.assert_allclose(
        mine.average_policy().action_probability_array,
        other.average_policy().action_probability_array,
        rtol=0,
        atol=1e-10,
    )


def test_best_responses_are_independent_of_payoff_scale():
    tables = []
    for unit in (1.0, 2.0**-60):
        stakes = unit * np.diag([3.0, 1.0])
        solver = ms.CFRBRSolver(pyspiel.create_matrix_game(stakes, -stakes))
        for _ in range(8):
            solver.evaluate_and_update_policy()
        tables.append(solver.average_policy().action_probability_array)
    assert (tables[0] == tables[1]).all()
