"""Policies that a run keeps on the way: which, and what becomes of them."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.experiments import Settings, sweeps
from mccfr_spiel.storage.results_folder import kept_policies

PART = ".part-0123456789abcdef"

RUN = ["solve", "kuhn_poker", "--figure_format=svg", "--seed=3"]


class KilledError(BaseException):
    """What nothing catches, as a signal that kills."""


def solve(folder, *more):
    return main([*RUN, f"--output_dir={folder}", *more])


def vectors(folder):
    return {
        iteration: ms.load_policy(path).vector.tolist()
        for iteration, path in kept_policies(folder).items()
    }


def by_hand(*iterations):
    """The average policies of the same run without files."""
    tree = ms.GameTree("kuhn_poker").expand_all()  # whose sequences files have, too
    solver, found = ms.Solver(tree, ms.EXTERNAL_SAMPLING, seed=3), {}
    for iteration in iterations:
        solver.iterate(iteration - solver.num_iterations)
        found[iteration] = solver.average_vector().tolist()
    return found


def test_the_policies_of_powers_of_ten_and_of_the_end_are_kept(tmp_path):
    assert solve(tmp_path / "out", "--iterations=300", "--keep_policies=1") == 0
    assert vectors(tmp_path / "out") == by_hand(1, 10, 100, 300)
    assert solve(tmp_path / "none", "--iterations=300") == 0
    assert kept_policies(tmp_path / "none") == {}


def test_a_run_that_was_killed_has_all_policies_once_it_is_resumed(
    tmp_path, monkeypatch
):
    save = ms.SequencePolicy.save

    def killed(policy, path):
        if "_100." in str(path):
            (tmp_path / f"policy_after_100.bin{PART}").write_bytes(b"half")
            raise KilledError
        save(policy, path)

    more = "--iterations=1000", "--keep_policies=1", "--checkpoint_every=0"
    with monkeypatch.context() as patch:
        patch.setattr(ms.SequencePolicy, "save", killed)
        with pytest.raises(KilledError):
            solve(tmp_path, *more)
    assert list(kept_policies(tmp_path)) == [1, 10]
    folder = f"--output_dir={tmp_path}"
    assert main(["solve", "--resume", folder, "--figure_format=svg"]) == 0
    assert vectors(tmp_path) == by_hand(1, 10, 100, 1000)
    assert not list(tmp_path.glob("*.part*"))


def test_a_sweep_leaves_no_policies_and_says_so(tmp_path):
    settings = {"one": Settings("kuhn_poker", iterations=10, keep_policies=1)}
    with pytest.raises(ValueError, match=r"one: The runs of a sweep.*keep_policies=1"):
        sweeps.run_sweep(settings, tmp_path, lambda tasks: iter(()))
