"""Objects print as one line that says what matters, at no cost and without errors;
algorithms are values, equal by what they say."""

import copy
import math
import pickle

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms
from mccfr_spiel.common.display import line, never_raises, plus_minus
from mccfr_spiel.solving import files

ODD = {
    "explored": ms.Algorithm(ms.outcome(1 / 3), ms.ftrl(0.5, weights="kroer")),
    "weighted": ms.Algorithm(ms.FULL, ms.omd(1e-3), ms.polynomial(1 / 3)),
    "at once": ms.CFR_PLUS._replace(alternating=False),
    "random": ms.Algorithm(ms.FULL, ms.regret_matching(initial_regret=1.0)),
    "mixed": ms.Algorithm(
        algorithms.Sampling(False, True, "balanced", prune=True), ms.omd(2), ms.LINEAR
    ),
}
ALL = {**ms.ALGORITHMS, **ODD}


@pytest.mark.parametrize("name", ALL)
def test_the_repr_of_an_algorithm_is_the_code_that_makes_it(name):
    algorithm = ALL[name]
    names = {each: getattr(algorithms, each) for each in dir(algorithms)}
    assert eval(repr(algorithm), names) == algorithm
    for part in algorithm[:3]:
        assert eval(repr(part), names) == part
    assert "\n" not in repr(algorithm)


def test_algorithms_have_the_names_of_the_papers_and_all_differ():
    words = {name: str(algorithm) for name, algorithm in ALL.items()}
    assert len(set(words.values())) == len(words)
    assert words["cfr"] == "CFR"
    assert words["cfr_plus"] == "CFR+"
    assert words["external_sampling"] == "external sampling"
    assert words["ftrl"] == "external sampling with FTRL (step size 1)"
    assert words["at once"] == "CFR+, simultaneous updates"


def test_a_solver_shows_a_nash_conv_only_once_it_was_computed():
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING)
    assert repr(solver) == "<Solver: Kuhn Poker, external sampling, 0 iterations>"
    ms.nash_conv("kuhn_poker", solver.average_policy())
    assert "NashConv" not in repr(solver)
    solver.run(3_000, metrics=ms.metrics.nash_conv)
    conv = ms.nash_conv("kuhn_poker", solver.average_policy())
    shown = "Kuhn Poker, external sampling, 3,000 iterations"
    assert str(solver) == f"{shown}, NashConv {conv:.3g}"
    assert f">{conv:.3g}</td>" in solver._repr_html_()
    assert "NashConv" not in repr(copy.copy(solver))
    solver.iterate(1)
    assert str(solver) == (
        f"Kuhn Poker, external sampling, 3,001 iterations, NashConv {conv:.3g} "
        "after 3,000"
    )


def test_reprs_expand_nothing_and_change_no_later_bit():
    shown, plain = (ms.Solver("leduc_poker", ms.OUTCOME_SAMPLING) for _ in range(2))
    for _ in range(5):
        shown.iterate(10)
        plain.iterate(10)
        nodes = shown.tree.num_nodes
        for thing in (shown, shown.tree, shown.average_policy()):
            assert repr(thing).startswith("<")
            assert thing._repr_html_().startswith("<")
        assert shown.tree.num_nodes == nodes
    assert np.array_equal(shown.average_vector(), plain.average_vector())
    assert "NashConv" not in repr(shown)


# --- their words -------------------------------------------------------------


@pytest.mark.parametrize(
    ("middle", "half_width", "shown"),
    [
        (-0.0556, 0.00119, "-0.0556 +- 0.0012"),
        (123.4, 17.2, "123 +- 18"),  # 18 since 123 is 0.4 off
        (0.5, 0.0, "0.5"),
        (1 / 3, 1e-17, "0.333333333333"),
        (-0.001, 0.4, "0.00 +- 0.41"),  # not -0.00
        (0.5, math.inf, "0.5"),
        (0.5, math.nan, "0.5"),
    ],
)
def test_an_interval_shows_two_digits_of_its_width(middle, half_width, shown):
    assert plus_minus(middle, half_width) == shown


def test_what_is_shown_of_an_interval_holds_all_of_it():
    generator = np.random.default_rng(0)
    for _ in range(300):
        middle = generator.normal() * 10.0 ** generator.integers(-3, 4)
        half_width = abs(middle) * 10.0 ** generator.uniform(-6, 1)
        center, wide = map(float, plus_minus(middle, half_width).split(" +- "))
        slack = 1e-6 * half_width
        assert center - wide <= middle - half_width + slack
        assert center + wide >= middle + half_width - slack
        assert wide < 1.2 * half_width


def test_a_repr_that_fails_is_a_bare_one():
    class Broken:
        @never_raises
        def __repr__(self) -> str:
            return line(self, str(1 / 0))

    assert repr(Broken()).startswith("<Broken at 0x")


# --- algorithms are values ---------------------------------------------------

PARTS_OF_RULES = [
    ms.regret_matching(),
    ms.regret_matching_plus(),
    ms.regret_matching(initial_regret=1.0),
    ms.ftrl(1.0),
    ms.omd(1.0),
    ms.omd(1.0, weights="kroer"),
    ms.ftrl(2.0),
]
PARTS = [*PARTS_OF_RULES, ms.EXTERNAL, ms.OUTCOME, ms.LINEAR]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_part_is_the_same_after_a_copy_and_a_pickle(part):
    assert copy.deepcopy(part) == pickle.loads(pickle.dumps(part)) == part
    assert type(part)(**part._asdict()) == part._replace() == part


def test_what_a_minimizer_is_now_is_said_to_those_who_make_one_by_name():
    with pytest.raises(TypeError, match=r"ftrl.*step_size=0\.5.*ms\.ftrl\(step_size\)"):
        ms.algorithms.Minimizer("ftrl", step_size=0.5)  # pyright: ignore[reportCallIssue]
    for kind in algorithms.RULES.values():
        assert issubclass(kind, ms.algorithms.Minimizer)


@pytest.mark.parametrize("rule", PARTS_OF_RULES, ids=str)
def test_files_hold_a_rule(rule):
    algorithm = ms.Algorithm(ms.outcome(0.3), rule, ms.QUADRATIC, False)
    assert files.algorithm_of_file(repr(algorithm), {}) == algorithm
