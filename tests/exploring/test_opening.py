"""`explore`, the command, results that are still being written, and exported pages."""

import json
import re
import socket
import urllib.error
import urllib.request

import pytest

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.exploring import exporting
from mccfr_spiel.exploring.opening import look_at
from mccfr_spiel.exploring.server import HOST
from tests.exploring.asking import HOSTILE, hostile_policy, solved


def fetch(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as reply:
        return reply.read().decode()


def test_explore_serves_the_page_on_the_loopback_address_until_it_is_stopped():
    with ms.explore(solved("kuhn_poker")) as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", page.url)
        assert page.url in repr(page)
        assert "<main>" in fetch(page.url)
        about = json.loads(fetch(page.url + "api/about"))
        assert about["game"] == "kuhn_poker()"
        port = int(page.url.split(":")[2].split("/")[0])
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(f"http://127.0.0.1:{port}/")
        with pytest.raises(urllib.error.HTTPError, match="421"):
            fetch(page.url, Host="evil.example")
        for address in own_addresses():
            with pytest.raises(OSError, match=r".*"):
                socket.create_connection((address, port), timeout=2)
    with pytest.raises(urllib.error.URLError):
        fetch(page.url)
    assert "stopped" in repr(page)


def own_addresses():
    """The machine's addresses that are not the loopback's."""
    found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    return {str(one[4][0]) for one in found} - {HOST, "127.0.1.1"}


def test_a_port_in_use_is_told_in_words(capsys, tmp_path):
    solved("kuhn_poker").average_policy().save(tmp_path / "policy.bin")
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port={port} cannot be used.*port=0"):
            ms.explore(solved("kuhn_poker"), port=port)
        path = str(tmp_path / "policy.bin")
        assert main(["explore", path, f"--port={port}"]) == 1
    assert f"port={port} cannot be used" in capsys.readouterr().err
    with pytest.raises(ValueError, match="port=70000"):
        ms.explore(solved("kuhn_poker"), port=70_000)


@pytest.fixture
def results(tmp_path, capsys):
    """The folder of a run of Kuhn poker."""
    folder = tmp_path / "run"
    words = ["solve", "kuhn_poker", "--iterations=300", f"--output_dir={folder}"]
    assert main([*words, "--figure_format=svg"]) == 0
    capsys.readouterr()
    return folder


def test_the_command_exports_a_page_with_the_rows_of_the_run(results, tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", str(results), f"--export={path}"]) == 0
    assert str(path) in capsys.readouterr().out
    saved = data_of(path)
    policy = ms.load_policy(results)
    returns = saved["overviews"][0]["returns"]
    assert returns == pytest.approx(ms.expected_returns("kuhn_poker", policy))
    assert saved["rows"]["columns"]["iteration"][-1] == 300
    assert len(saved["states"]) == ms.GameTree("kuhn_poker").expand_all().num_nodes
    links = re.findall(r"https?://[^\s\"]+", path.read_text(encoding="utf-8"))
    assert set(links) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def data_of(path):
    text = path.read_text(encoding="utf-8")
    found = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text
    )
    assert len(found) == 1
    return json.loads(found[0])


def test_errors_of_the_command_are_in_words(tmp_path, capsys, results):
    solved("leduc_poker", 10).average_policy().save(tmp_path / "leduc.bin")
    for words, told in (
        ([], "What is to be explored"),
        (["nowhere"], "nowhere is no folder of results"),
        ([str(tmp_path)], "it has no policy"),
        ([str(results), str(tmp_path / "leduc.bin")], "is a policy for leduc_poker"),
        ([str(results), "--game=leduc_poker"], "not for leduc_poker"),
    ):
        assert main(["explore", *words, f"--export={tmp_path / 'page.html'}"]) == 1
        assert told in capsys.readouterr().err
    (results / "policy.json").write_text("{")
    assert main(["explore", str(results), f"--export={tmp_path / 'page.html'}"]) == 1
    assert "policy.json" in capsys.readouterr().err


def test_strings_of_games_cannot_leave_their_place_in_an_exported_page(tmp_path):
    path = tmp_path / "page.html"
    exporting.export(look_at(hostile_policy()), path)
    text = path.read_text(encoding="utf-8")
    assert "<img" not in text
    assert text.count("<script") == 3
    assert "stolen=1</script>" not in text
    saved = data_of(path)
    assert saved["infosets"][0][0]["info_state"] == HOSTILE
    assert saved["states"]["0"]["moves"][0]["name"] == "<b>left</b>" + HOSTILE
