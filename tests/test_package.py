"""The names of `import mccfr_spiel`, and the contents of the wheel."""

import ast
import importlib
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import types
import zipfile

import pyspiel
import pytest

import mccfr_spiel as ms

ROOT = pathlib.Path(__file__).parents[1]

NAMESPACES = [
    *("algorithms", "cluster", "drop_in", "evaluation", "experiments", "metrics"),
    *("offline", "online_bot", "poker", "rules", "theory"),
]

HEAVY = ["matplotlib", "pandas", "starlette", "scipy.optimize", "numba", "pyspiel"]

SESSION = """
import pathlib
import mccfr_spiel as ms

solver = ms.Solver("kuhn_poker", ms.CFR_PLUS)
solver.iterate(500)
print(pathlib.Path(ms.__file__).parent)
print(ms.__version__)
print(ms.nash_conv("kuhn_poker", solver.average_policy()) < 0.01)
print(round(ms.solve_lp("kuhn_poker").value, 9))

import mccfr_spiel.games
print(pathlib.Path(mccfr_spiel.games.__file__).parent)
import games
print(games.owner)
"""


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespace_is_an_attribute_of_the_package(name):
    assert isinstance(getattr(ms, name), types.ModuleType)
    program = f"import mccfr_spiel as ms; print(ms.{name}.__name__)"
    assert run([sys.executable, "-c", program]).split() == [getattr(ms, name).__name__]


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="PRUNED_CFR"):
        ms.PRUNED_CFR  # type: ignore[attr-defined]  # noqa: B018
    assert ms.algorithms.PRUNED_CFR


@pytest.mark.parametrize("name", ["__version__", "Solver"])
def test_import_loads_no_slow_modules(name, capsys):
    """Solvers need numba and pyspiel, and none of the other modules."""
    program = (
        "import sys, time; began = time.perf_counter(); import mccfr_spiel as ms; "
        f"ms.{name}; print(time.perf_counter() - began, *sys.modules)"
    )
    seconds, *loaded = run([sys.executable, "-c", program]).split()
    with capsys.disabled():
        print(f" {name} is there after {float(seconds):.2f} s ", end="")
    needed = {"numba", "pyspiel"} if name == "Solver" else set()
    assert {*HEAVY} & {*loaded} == needed


def test_dir_lists_public_names():
    assert len({*ms.__all__} - {*NAMESPACES}) <= 80
    assert {*dir(ms)} == {*ms.__all__} > {*NAMESPACES}
    for name in dir(ms):
        assert getattr(ms, name)


@pytest.mark.parametrize("space", [ms.algorithms, ms.evaluation])
def test_dir_of_namespace_lists_unloaded_names(space):
    names = f"import mccfr_spiel; print(dir({space.__name__}))"
    shown = ast.literal_eval(run([sys.executable, "-c", names]))
    assert {"CFR_PLUS", "full"} < {*shown} or {"nash_conv", "game_value"} < {*shown}
    assert all(getattr(space, name) is not None for name in shown)


def modules_of_source() -> set[str]:
    """The modules of a wheel, where `games` is inside the package."""
    inside = (ROOT / "mccfr_spiel").rglob("*.py")
    beside = (ROOT / "games").rglob("*.py")
    paths = [path.relative_to(ROOT).as_posix() for path in inside]
    games = [f"mccfr_spiel/{path.relative_to(ROOT).as_posix()}" for path in beside]
    return {*paths, *games}


def test_every_source_folder_is_packaged():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {path.rpartition("/")[0] for path in modules_of_source()}
    listed = settings["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(folder.replace("/", ".") for folder in folders)


def test_games_package_has_a_unique_name():
    module = importlib.import_module("mccfr_spiel.games")
    assert pathlib.Path(str(module.__file__)).parent == ROOT / "games"
    assert pyspiel.load_game(module.PAPER_GAMES["Leduc13"]).num_players() == 2
    with pytest.raises(ImportError, match=r"mccfr_spiel\.games"):
        importlib.import_module("games")


def version_of(distribution: str) -> int:
    """The installed major version, 0 for none, without an import."""
    try:
        return int(importlib.metadata.version(distribution).partition(".")[0])
    except importlib.metadata.PackageNotFoundError:
        return 0


def test_wheel_is_complete_and_works(tmp_path):
    if version_of("pip") < 1 or version_of("setuptools") < 77:
        pytest.skip("Building the wheel takes pip and setuptools 77.")
    # Built from a copy, because setuptools creates a folder `build` in the source, and
    # copies the files of an earlier build into the wheel.
    source = tmp_path / "source"
    unwanted = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    source.mkdir()
    for name in ("mccfr_spiel", "games"):
        shutil.copytree(ROOT / name, source / name, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index")
    run([*pip, "wheel", *offline, "--no-build-isolation", "-w", tmp_path, source])

    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in inside if name.endswith(".py")} == modules_of_source()
    assert {"mccfr_spiel/py.typed", "mccfr_spiel/__init__.pyi"} < inside
    data = "exploring/static/poker.js", "experiments/dark.mplstyle"
    data += tuple(f"exploring/static/page.{kind}" for kind in ("html", "css", "js"))
    assert {f"mccfr_spiel/{name}" for name in data} < inside

    installed = tmp_path / "installed"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "games.py").write_text("owner = 'the user'")
    run([*pip, "install", "-q", *offline, "--target", installed, wheel])
    environment = os.environ | {
        "PYTHONPATH": str(installed),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    lines = run([sys.executable, "-c", SESSION], elsewhere, environment).splitlines()
    assert lines == [
        str(installed / "mccfr_spiel"),
        ms.__version__,
        "True",
        "-0.055555556",
        str(installed / "mccfr_spiel" / "games"),
        "the user",
    ]
    program = str(installed / "bin" / "mccfr-spiel")
    if os.name == "posix":
        printed = run(
            [program, "info", "kuhn_poker", "--nomeasure"], elsewhere, environment
        )
        assert "58 nodes, counted" in printed
    assert list((tmp_path / "cache").rglob("*.code"))


def run(command, folder=None, environment=None) -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
