"""Settings: what names mean, what is refused, and what is written down."""

import itertools
import json
import re

import pytest

import mccfr_spiel as ms
from mccfr_spiel import algorithms, offline
from mccfr_spiel.experiments import Settings, named_settings
from mccfr_spiel.experiments.algorithm_names import (
    AVERAGINGS,
    METHODS,
    MINIMIZERS,
    SAMPLINGS,
    name_of,
    read_method,
    written,
)
from mccfr_spiel.experiments.runs import default_folder
from mccfr_spiel.experiments.settings import check, description, flags_of, read_settings

# --- names -----------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_a_named_algorithm_keeps_its_name(name):
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
def test_names_make_an_algorithm_which_has_a_name_and_a_file(
    flags, name, algorithm, tmp_path
):
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


def test_two_algorithms_never_have_one_name_nor_one_text():
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
def test_a_text_that_spells_no_algorithm_is_refused_and_never_run(text):
    with pytest.raises(ValueError, match=r"\w"):
        read_method(text)


# --- the table -------------------------------------------------------------------


def test_settings_that_change_no_row_are_equal_and_others_are_not():
    one = Settings("kuhn_poker", ms.CFR)
    more = {"threads": 5, "twin": False, "max_memory": "1GiB", "keep_policies": 2}
    assert one == one._replace(**more)
    assert flags_of(one._replace(**more)).items() >= more.items()
    assert one != one._replace(seed=1.0) == one._replace(seed=1)
    with pytest.raises(ValueError, match="seed='1' is not an integer"):
        Settings(seed="1")  # pyright: ignore
    with pytest.raises(ValueError, match=r"a horizon.*ms\.hs_dcfr\(1000\)"):
        Settings(algorithm="hs_dcfr", until_nodes_touched=99)  # pyright: ignore


# --- what is refused -------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"epsilon": 0.5}, "epsilon=0.5 is given, but only outcome sampling explores"),
        ({"step_size": 1.0, "algorithm": "egt"}, "egt has none"),
        ({"gamma": 2.0, "averaging": "linear"}, "averaging=linear and gamma=2.0 both"),
        ({"horizon": 9}, "horizon=9 is given.*algorithm=hs_dcfr or algorithm=hs_p"),
        ({"algorithm": "hs_dcfr", "until_nodes_touched": 9}, "dcfr with.*=9 needs a"),
        ({"sampling": "none"}, "sampling='none' is none of full, chance"),
        ({"itertions": 3}, "itertions= is none of the settings game, players"),
        ({"iterations": 0}, "iterations=0 is not an integer >= 1"),
        ({"game": 3}, "game=3 is not a string"),
        ({"until_nodes_touched": 9, "algorithm": "egt"}, "egt goes by iterations"),
        ({"until_nash_conv": 1.0, "evaluate": "none"}, "never known with evaluate=no"),
        ({"until_pot_percent": 1.0}, "kuhn_poker has no pot at the start"),
        ({"evaluate": "exactly"}, "evaluate='exactly' is none of exact, sampled"),
        ({"evaluate": "sampled", "bounds": True}, "sampled spares.*use evaluate=exact"),
        ({"evaluate_last": True, "algorithm": "egt"}, "egt has one policy"),
        ({"bounds": True, "algorithm": "cfr_plus"}, "bounds=True cannot.*Theorems 3"),
        ({"bounds": True, "sampling": "chance"}, "bounds=True.*Proposition 2"),
        ({"game": "kuhn_poker(players=2)", "players": 3}, r"s=3.*r\(players=2\);"),
        ({"game": "nosuch"}, "import the module that registers it first"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_the_work(flags, words):
    with pytest.raises(ValueError, match=words):
        check(named_settings(**({"game": "kuhn_poker"} | flags)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[1]", "lacks the settings"),
        ('{"settings": {"itertions": 3}}', "itertions= is none of"),
        ('{"settings": {"iterations": "3"}}', "iterations='3' is not an int"),
        ('{"settings": {"iterations": true}}', "iterations=True is not a number"),
        ('{"settings": {"batch": 0.5}}', "batch=0.5 is not an integer"),
    ],
)
def test_damaged_settings_are_refused_in_words(text, words, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)
