"""The program mccfr-spiel, called in this process."""

import io
import json
import pathlib
import re
import signal
import sys
from unittest.mock import Mock

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line import compare_command, experiment_command
from mccfr_spiel.command_line.main import COMMANDS, flags_of_command, main
from mccfr_spiel.command_line.program_flags import whole_number
from mccfr_spiel.command_line.terminal import Signals


@pytest.fixture
def program(capsys, monkeypatch, tmp_path):
    """Runs the program in a temporary folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_overview_names_commands_and_version(program):
    code, out, _ = program("--help")
    assert all(f"mccfr-spiel {name}" in out for name in COMMANDS)
    assert program("--version")[1] == f"mccfr-spiel {ms.__version__}\n"
    assert (code, program()[0]) == (0, 1)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_exactly_the_flags_of_the_command(program, name):
    code, out, _ = program(name, "--help")
    assert code == 0
    shown = re.findall(r"^  --(?:\[no\])?(\w+)", out, re.MULTILINE)
    assert {*shown} == {*flags_of_command(COMMANDS[name])}


def test_solve_accepts_game_and_flags_in_any_order(program, tmp_path):
    more = "--output_dir=a", "--figure_format=svg,pdf"
    code, out, _ = program("solve", "--iterations=40", "kuhn_poker", *more)
    assert code == 0
    assert "Results are in a" in out
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert {"policy.json", "convergence.svg", "convergence.pdf"} < names
    assert "convergence.png" not in names
    settings = json.loads((tmp_path / "a" / "settings.json").read_text())["settings"]
    assert (settings["game"], settings["iterations"]) == ("kuhn_poker", 40)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("slove",), "Did you mean solve?"),
        (("solve", "--resume=maybe"), "--resume=maybe: expected true or false."),
        (("solve", "--tremble=nan"), "tremble=nan must be a number in [0, 0.5)"),
        (("solve", "--iteration=3"), "Did you mean: iterations"),
        (("solve", "--algorithm=cfrplus"), "Did you mean cfr_plus?"),
        (("solve", "--algorithm=MCCFR"), "external_sampling or"),
        (("solve", "--minimizer=nowhere:rule"), "is not MODULE:NAME"),
        (("play", "nofile.json"), "not found: nofile.json"),
        (("solve", "--figure_format=jpg"), "png, svg, pdf"),
        (("solve", "--evaluate=exat"), "sampled, none. Did you mean exact?\n"),
        (("experiment", "none"), "farina2020_figure3"),
        (("compare", "kuhn_poker", "--algorithms=CFR+"), "mean cfr_plus?"),
        (("compare", "kuhn_poker", "--algorithms=cfr:speed=3"), "Unknown flag 'speed'"),
        (("compare", "kuhn_poker", "--algorithms=lp"), "such as iterations=1000"),
        (("compare", "kuhn_poker", "--seeds=1.5"), "not a whole number, such as 2000"),
        (("play", "kuhn_poker", "--iterations=1.5"), "not a whole number, such as 20"),
        (
            ("play", "kuhn_poker", "--deals=9"),
            "--deals has no effect without --against",
        ),
        (("play", ".", "--players=3"), "--players=3 needs --game"),
        (("play", ".", "--iterations=9"), "--iterations has no effect with --policy"),
        (("explore", ".", "--players=3"), "--players=3 needs --game"),
        (
            ("explore", ".", "--tree=t", "--abstraction=a:b"),
            "does not support --abstraction",
        ),
        (("compare", "kuhn_poker", "--metrics=gap"), "MODULE:FUNCTION"),
        (("compare", "kuhn_poker", "--opponent=a"), "requires --metrics=head_to_head"),
        (("solve", "--import=games"), r"mccfr_spiel.games"),
    ],
)
def test_mistakes_get_one_message_with_advice(program, arguments, words):
    code, _, message = program(*arguments)
    assert code == 1
    assert words in message
    assert "Traceback" not in message


def test_whole_numbers_can_have_an_exponent():
    assert [repr(whole_number(text)) for text in ("1e6", "7.0")] == ["1000000", "7"]
    assert repr(whole_number("2.5E3")) == "2500"
    for text in ("1.5", "nan", "three", "1e999999999"):
        with pytest.raises(ValueError, match="is not a whole number"):
            whole_number(text)


def test_info_counts_small_games(program):
    code, out, _ = program("info", "leduc_poker", "--nomeasure")
    assert code == 0
    assert "9,457 nodes, counted" in out
    assert "936 information sets (468 + 468)" in out
    assert "not " not in out
    # Tables of a solver need 1.1 MB, nodes 300 kB, and hands less.
    out = program("info", "leduc_poker", "--nomeasure", "--max_memory=1.1MB")[1]
    assert "the whole tree does not fit\nevaluation  " in out
    out = program("info", "leduc_poker", "--nomeasure", "--max_memory=300kB")[1]
    assert "the whole tree does not fit\nevaluation  exact: hands of cards" in out
    assert ms.Solver("leduc_poker", ms.CFR_PLUS, max_memory="300kB").store == "worlds"


RANGES = "range0=AA;KK,range1=AK;QQ"
FLOP = f"python_holdem_subgame(board=Ks7d4c,pot=100,stacks=300,bets=50%,{RANGES})"


@pytest.mark.parametrize(
    ("game", "arena"), [("phantom_ttt", "worlds"), (FLOP, "blocks of hands")]
)
def test_info_shows_arenas_of_large_games(program, game, arena):
    code, out, _ = program("info", game, "--nomeasure")
    assert code == 0
    assert "algorithms  cfr, cfr_plus, lcfr, dcfr, pcfr_plus" in out
    assert f"sapcfr_plus: {arena}\n" in out
    assert f"evaluation  exact: {arena}\n" in out


def test_play_shows_and_accepts_names_of_moves(program, monkeypatch):
    answers = Mock(side_effect=["?", "nonsense", "p", "q", BrokenPipeError])
    monkeypatch.setattr("builtins.input", answers)
    more = "--seat=1", "--iterations=2000", "--seed=4"
    code, out, _ = program("play", "kuhn_poker", *more)
    assert (
        code == program("play", "kuhn_poker")[0] == 0
    )  # the last one like `... | head`
    assert "1  Pass" in out
    assert "2  Bet" in out
    assert "Unknown move 'nonsense'. Enter a number from 1 to 2" in out
    assert "Your return: " in out
    assert out.count("--- A new game.") == 2


def test_play_shows_information_without_strings(program, monkeypatch, tmp_path):
    (tmp_path / "by.py").write_text("def past(state, _): return state.history_str()")
    (tmp_path / "pig").mkdir()  # a folder without policy, so the word is the game
    monkeypatch.setattr("builtins.input", lambda prompt: "q")
    more = "--abstraction=by:past", "--algorithm=outcome_sampling", "--iterations=9"
    assert "You know: Scores: 0 0, Turn" in program("play", "pig", *more)[1]


def test_commands_tolerate_broken_standard_streams(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda prompt: "q")
    for stream in (None, io.TextIOWrapper(io.BytesIO(), "ascii")):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["play", "leduc_poker", "--iterations=1"]) == 0  # You know: J\u2660
        assert main(["solve", "kuhn_poker", "--iterations=2"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(sys, "__stderr__", None)
        patch.delattr("os.write")  # descriptor 2 can belong to a file
        handlers = Signals()
        handlers.wait = True
        signal.raise_signal(signal.SIGINT)
    assert handlers.received == signal.SIGINT
    sys.stderr.close()
    full = Mock(**{"write.side_effect": OSError(28, "disk"), "closed": False})
    for stream in (sys.stderr, full):
        monkeypatch.setattr(sys, "stderr", stream)
        ms.Solver("kuhn_poker").run(1, progress=True)  # a progress bar without a stream


def test_compare_writes_figures_and_table(program, tmp_path):
    pd = pytest.importorskip("pandas")
    call = (
        *("compare", "kuhn_poker", "--algorithms=cfr,outcome_sampling:epsilon=0.4"),
        *("--seeds=2", "--nodes=2e3", "--workers=1", "--output_dir=c"),
        *("--metrics=nash_conv,head_to_head", "--figure_format=svg"),
    )
    code, out, _ = program(*call)
    assert code == 0
    assert "outcome sampling (epsilon 0.4)" in out
    names = {path.name for path in (tmp_path / "c").iterdir()}
    assert names == {"comparison.csv", "figure.svg", "figure_head_to_head.svg", "runs"}
    table = pd.read_csv(tmp_path / "c" / "comparison.csv")
    assert table.groupby("algorithm").nodes_touched.max().min() >= 2000
    assert program(*call)[:2] == (code, out)  # resumes a complete comparison
    ms.solve_lp("kuhn_poker").policy.save("p.json")
    assert program(*call, "--opponent=p.json")[1] != out


OWN = """
import pyspiel
from open_spiel.python.games import kuhn_poker as base

TYPE = pyspiel.GameType(**{
    **{name: getattr(base._GAME_TYPE, name) for name in (
        "dynamics", "chance_mode", "information", "utility", "reward_model",
        "max_num_players", "min_num_players", "provides_information_state_string",
        "provides_information_state_tensor", "provides_observation_string",
        "provides_observation_tensor", "parameter_specification")},
    "short_name": "python_NAME", "long_name": "NAME"})

class Game(base.KuhnPokerGame):
    pass

pyspiel.register_game(TYPE, Game)
"""


@pytest.mark.parametrize("by_path", [True, False])
def test_import_accepts_modules_and_paths(program, tmp_path, by_path):
    name = f"own_{'path' if by_path else 'folder'}"
    folder = tmp_path / "below" if by_path else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(OWN.replace("NAME", name))
    given = f"below/{name}.py" if by_path else name
    more = f"--import={given}", "--iterations=2", "--output_dir=a"
    code, out, message = program("solve", f"python_{name}", *more)
    assert code == 0, message
    assert f"python_{name}" in out


def test_compare_passes_flags_to_the_library(program, monkeypatch):
    called = Mock(side_effect=ValueError("enough"))
    monkeypatch.setattr(compare_command, "compare", called)
    more = "--notwin", "--threads=3", "--max_memory=1GiB", "--output_dir=~/a"
    program("compare", "kuhn_poker", *more)
    folder = pathlib.Path.home() / "a" / "runs"
    told = {"twin": False, "threads": 3, "max_memory": "1GiB", "folder": folder}
    assert called.call_args.kwargs.items() >= told.items()


def test_experiment_passes_threads_and_workers(program, monkeypatch):
    called = Mock(side_effect=ValueError("enough"))
    monkeypatch.setattr(experiment_command.sweeps, "run_sweep", called)
    words = "experiment", "farina2020_figure3", "--only=goofspiel", "--seeds=1"
    assert program(*words, "--threads=3", "--workers=2")[0] == 1
    table, _, executor, _ = called.call_args.args
    assert {one.threads for one in table.values()} == {3}
    assert executor.keywords["workers"] == 2
