"""What README promises in its first screens runs as printed."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run_block(containing: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (block,) = (block for block in BLOCKS if containing in block)
    exec(block, {})
    return capsys.readouterr().out.splitlines()


def test_ten_lines_print_falling_nash_conv_and_half_of_it(capsys):
    lines = run_block("leduc_poker", capsys)
    early, half, late = (float(line) for line in lines)
    assert early == 2 * half
    assert late < 0.06 < early < 0.2


def test_rock_paper_scissors_ends_at_one_third_each(capsys):
    rows = [eval(line) for line in run_block("matrix_rps", capsys)]
    thirds = pytest.approx(dict.fromkeys(range(3), 1 / 3), abs=0.001)
    assert rows == [thirds, thirds]


def test_what_the_ranges_get_on_the_river_is_the_pot(capsys):
    (evs,) = run_block("river", capsys)
    assert sum(map(float, evs.strip("[]").split())) == pytest.approx(100)


def test_commands_are_two_lines_that_start_from_nothing():
    commands = re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)
    run_tests = ".venv/bin/python -m pytest -n auto --dist worksteal"
    assert [command.split(" && ")[2:] for command in commands] == [
        [".venv/bin/python run_experiments.py"],
        [f"NUMBA_DISABLE_JIT=1 {run_tests}", run_tests],
    ]


def test_the_sweep_of_the_documentation_leaves_its_figure(tmp_path):
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    script = tmp_path / "sweep.py"
    script.write_text(block.replace("1_000_000", "20_000").replace("=10)", "=2)"))
    result = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.stdout, result.returncode) == ("[]\n", 0), result.stderr
    assert len([*(tmp_path / "my_sweep").glob("*_s[01].csv")]) == 6
    assert (tmp_path / "my_sweep" / "figure.png").stat().st_size > 1000


def test_the_code_about_comparing_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    first, history = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = [line for line in first.splitlines() if line and "import" not in line]
    assert len(lines) <= 5  # with the import, six
    exec(first.replace("seeds=10, nodes=1e5", "seeds=2, nodes=1e3, workers=1"), {})
    assert (tmp_path / "comparison.pdf").stat().st_size > 5000
    exec(history, {})
    assert capsys.readouterr().out.splitlines()[-1].split()[0] == "1,000"
