"""The import paths of version 0.1 still work and say what they are now."""

import importlib
import importlib.util
import sys

import pytest

import mccfr_spiel as ms

OLD_PATHS = (
    "algorithms checkpoint compile drop_in evaluation experiments "
    "first_order frame full_pass game_tree growth kernels linear_program "
    "memory names offline online_bot plotting policy prefetch randomness "
    "reproduction rules rules_expansion rules_game rules_kernel "
    "sampled_evaluation sequence_form solver sparsification sweeps table_1 "
    "theory tree_cache "
)


@pytest.mark.filterwarnings("ignore:.*is now:DeprecationWarning")
@pytest.mark.parametrize("name", OLD_PATHS.split())
def test_every_old_path_can_be_imported(name):
    if name == "plotting":
        pytest.importorskip("matplotlib")
    assert importlib.import_module(f"mccfr_spiel.{name}").__doc__


def test_an_old_path_gives_the_same_objects_and_the_new_path():
    sys.modules.pop("mccfr_spiel.game_tree", None)
    with pytest.warns(DeprecationWarning, match=r"is now mccfr_spiel\.tree\.game_tree"):
        module = importlib.import_module("mccfr_spiel.game_tree")
    assert module.GameTree is ms.GameTree
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


def test_a_path_that_never_was_is_not_found():
    assert importlib.util.find_spec("mccfr_spiel.no_such_module") is None
    assert importlib.util.find_spec("mccfr_spiel.tree.game_tree") is not None


@pytest.mark.filterwarnings("ignore:.*is now:DeprecationWarning")
def test_an_old_path_does_not_hide_the_function_of_its_name():
    importlib.import_module("mccfr_spiel.sequence_form")
    form = ms.sequence_form("kuhn_poker")  # pyright: ignore[reportCallIssue]
    assert len(form.treeplexes) == 2
