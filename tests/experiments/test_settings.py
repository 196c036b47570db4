"""Settings: names, equality, refusals and files."""

import itertools
import json
import re

import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms, offline
from mccfr_spiel.experiments import Settings, named_settings
from mccfr_spiel.experiments.algorithm_names import (
    METHODS,
    name_of,
    read_method,
    written,
)
from mccfr_spiel.experiments.algorithm_parts import AVERAGINGS, MINIMIZERS, SAMPLINGS
from mccfr_spiel.experiments.run_folders import default_folder
from mccfr_spiel.experiments.run_solvers import check
from mccfr_spiel.experiments.setting_names import flags_of
from mccfr_spiel.experiments.settings_files import description, read_settings

# --- names -----------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_named_algorithm_keeps_its_name(name):
    assert name_of(named_settings(algorithm=name).algorithm) == name
    assert Settings(algorithm=name) == named_settings(algorithm=name)


@pytest.mark.parametrize(
    ("flags", "name", "algorithm"),
    [
        ({"sampling": "outcome"}, "outcome_sampling", ms.OUTCOME_SAMPLING),
        (
            {"algorithm": "ftrl", "step_size": 0.5, "weights": "kroer"},
            "external sampling with FTRL (step size 0.5, kroer weights)",
            ms.Algorithm(ms.EXTERNAL, ms.ftrl(0.5, weights="kroer")),
        ),
        (
            {"algorithm": "cfr", "alternating": False},
            "CFR, simultaneous updates",
            ms.CFR._replace(alternating=False),
        ),
        ({"algorithm": "cfr", "gamma": 1.0}, "CFR, linear average", None),
        ({"algorithm": "pdcfr_plus", "gamma": 5.0}, "pdcfr_plus", ms.PDCFR_PLUS),
        (
            {"algorithm": "lp", "method": "interior_point", "time_limit": 3.0},
            "LinearProgramMethod(method='interior_point', time_limit=3.0)",
            offline.LinearProgramMethod("interior_point", 3.0),
        ),
        (
            {"algorithm": "hs_dcfr", "horizon": 9, "alternating": False},
            None,
            algorithms.hs_dcfr(9)._replace(alternating=False),
        ),
        (
            {"algorithm": "outcome_sampling", "batch": "auto"},
            "outcome sampling, growing batches",
            ms.OUTCOME_SAMPLING._replace(batch="auto"),
        ),
        (
            {"sampling": "pruned_by_regret"},
            "CFR pruned by regret",
            ms.Algorithm(ms.algorithms.full(prune="regret"), ms.regret_matching()),
        ),
        (
            {"algorithm": "Algorithm(Sampling(False, True, 'epsilon', 0.3), OMD(2))"},
            None,
            None,
        ),
    ],
    ids=str,
)
def test_settings_survive_names_and_files(flags, name, algorithm, tmp_path):
    settings = named_settings(game="kuhn_poker", **flags)
    assert algorithm in (None, settings.algorithm)
    assert name in (None, name_of(settings.algorithm))
    words = re.sub(r"[^\w.=-]+", "_", name_of(settings.algorithm)).strip("_")
    folder = default_folder(settings).name
    assert folder.startswith("kuhn_poker_")
    assert folder.endswith(f"_{words[:70]}_seed0")
    assert named_settings(**flags_of(settings)) == settings
    for given in (None, flags | {"game": "kuhn_poker"}):
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(description(settings, given)))
        assert read_settings(path) == settings


def test_algorithms_have_unique_names_and_texts():
    names, texts = {}, {}
    for sampling, minimizer, averaging, alternating in itertools.product(
        SAMPLINGS.values(), MINIMIZERS.values(), AVERAGINGS.values(), (True, False)
    ):
        one = ms.Algorithm(sampling, minimizer, averaging, alternating)
        try:
            algorithms.check_algorithm(one)
        except ValueError:
            continue
        assert names.setdefault(name_of(one), one) == one
        assert texts.setdefault(written(one), one) == one
        assert read_method(written(one)) == one
    assert len(names) > 250


@pytest.mark.parametrize(
    "text",
    [
        "Algorithm(EXTERNAL)",
        "Algorithm(EXTERNAL, __import__('os').system('true'))",
        "Algorithm(EXTERNAL, [ftrl(1)][0])",
        "(" * 10_000,
        "polynomial(2)",
    ],
)
def test_text_without_algorithm_is_refused_unevaluated(text):
    with pytest.raises(ValueError, match=r"\w"):
        read_method(text)


# --- the table -------------------------------------------------------------------


def test_equality_ignores_settings_without_effect_on_rows():
    one = Settings("kuhn_poker", ms.CFR)
    more = {"threads": 5, "twin": False, "max_memory": "1GiB", "keep_policies": 2}
    assert one == one._replace(**more)
    assert flags_of(one._replace(**more)).items() >= more.items()
    assert one != one._replace(seed=1.0) == one._replace(seed=1)
    with pytest.raises(ValueError, match="seed='1' must be an integer"):
        Settings(seed="1")  # pyright: ignore
    with pytest.raises(ValueError, match=r"a horizon.*ms\.hs_dcfr\(1000\)"):
        Settings(algorithm="hs_dcfr", until_nodes_touched=99)  # pyright: ignore


# --- what is refused -------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"epsilon": 0.5}, "epsilon=0.5 is given, but only outcome sampling"),
        ({"step_size": 1.0, "algorithm": "egt"}, "egt does not support step_size"),
        ({"gamma": 2.0, "averaging": "linear"}, "averaging=linear and gamma=2.0 both"),
        ({"horizon": 9}, "horizon=9 is given.*algorithm=hs_dcfr or algorithm=hs_p"),
        ({"algorithm": "hs_dcfr", "until_nodes_touched": 9}, "dcfr with.*=9 needs a"),
        ({"sampling": "none"}, "sampling='none' is none of full, chance"),
        (
            {"itertions": 3},
            r"itertions=3\. Did you mean iterations\? Expected game",
        ),
        ({"iterations": 0}, "iterations=0 is not an integer >= 1"),
        ({"game": 3}, "game=3 is not a string"),
        ({"until_nodes_touched": 9, "algorithm": "egt"}, "egt counts iterations"),
        (
            {"until_nash_conv": 1.0, "evaluate": "none"},
            "evaluate=none does not compute NashConv",
        ),
        ({"until_pot_percent": 1.0}, "kuhn_poker has no pot at the start"),
        ({"evaluate": "exactly"}, "evaluate='exactly' is none of exact, sampled"),
        (
            {"evaluate": "sampled", "bounds": True},
            "bounds needs the.*=sampled.*Use evaluate=exact",
        ),
        ({"evaluate_last": True, "algorithm": "egt"}, "egt has only one policy"),
        ({"bounds": True, "algorithm": "cfr_plus"}, "bounds=True is not.*Theorems 3"),
        ({"bounds": True, "sampling": "chance"}, "bounds=True.*Proposition 2"),
        ({"game": "kuhn_poker(players=2)", "players": 3}, r"s=3.*r\(players=2\);"),
        ({"game": "nosuch"}, "import the module that registers it first"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused_early(flags, words):
    with pytest.raises(ValueError, match=words):
        check(named_settings(**({"game": "kuhn_poker"} | flags)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[1]", 'lacks the "settings"'),
        ('{"settings": {"itertions": 3}}', "Unknown setting itertions=3"),
        ('{"settings": {"iterations": "3"}}', "iterations='3' must be an int"),
        ('{"settings": {"iterations": true}}', "iterations=True is not a number"),
        ('{"settings": {"batch": 0.5}}', "batch=0.5 must be an integer"),
    ],
)
def test_damaged_settings_file_is_refused(text, words, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)
