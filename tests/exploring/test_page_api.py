"""The page's requests and answers without a browser; opening, serving and exporting."""

import gc
import json
import re
import socket
import urllib.error
import urllib.request
import weakref

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import best_response, cfr

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import full_pass
from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.command_line.main import main
from mccfr_spiel.exploring import subjects
from mccfr_spiel.exploring.exporting import export
from mccfr_spiel.exploring.positions import seen_moves
from mccfr_spiel.exploring.restricted_games import restricted_solver, with_row
from mccfr_spiel.exploring.server import HEADERS, HOST
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.policies.vectors import uniform_vector
from tests.exploring import asking
from tests.exploring.asking import HOSTILE, TOKEN, Page, hostile_policy, solved
from tests.exploring.test_drawing import GOOFSPIEL


def value_of(state, policy, player):
    """A player's expected return, computed from OpenSpiel's rules alone."""
    if state.is_terminal():
        return state.returns()[player]
    odds = odds_at(state, policy).items()
    return sum(p * value_of(state.child(a), policy, player) for a, p in odds if p)


def odds_at(state, policy):
    if state.is_chance_node():
        return dict(state.chance_outcomes())
    return policy.action_probabilities(state)


def reach_of(state, policy, player):
    """The probabilities that the others and chance, and the player, play to a state."""
    at, reach = state.get_game().new_initial_state(), [1.0, 1.0]
    for action in state.history():
        reach[at.current_player() == player] *= odds_at(at, policy)[action]
        at.apply_action(action)
    return reach


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_values_reach_and_beliefs_equal_enumeration(game):
    solver = solved(game)
    policy, page = solver.average_policy(), Page(solver)
    groups: dict = {}
    stack = [policy.game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            player = state.current_player()
            key = player, state.information_state_string(player)
            groups.setdefault(key, []).append(state)
        stack += [state.child(action) for action in state.legal_actions()]
    assert len(groups) == solver.tree.num_infosets
    for (player, info_state), states in groups.items():
        reaches = [reach_of(state, policy, player) for state in states]
        others = np.array([pair[0] for pair in reaches])
        view = page.infoset(states[0])["infoset"]
        assert (view["info_state"], view["player"]) == (info_state, player)
        assert view["reach"] == pytest.approx(others.sum() * reaches[0][1], abs=1e-12)
        for i, action in enumerate(states[0].legal_actions()):
            values = [value_of(s.child(action), policy, player) for s in states]
            value = others @ values / others.sum()
            assert view["values"][i] == pytest.approx(value, abs=1e-12)
        here = others @ [value_of(s, policy, player) for s in states] / others.sum()
        assert view["value"] == pytest.approx(here, abs=1e-12)
        regrets = np.array(view["values"]) - here
        assert view["regrets"] == pytest.approx(regrets, abs=1e-12)
        belief = page.ask("belief", number=view["number"])["rows"]
        shown = {tuple(row["history"]): row["belief"] for row in belief}
        keys = [tuple(state.history()) for state in states]
        expected = dict(zip(keys, others / others.sum(), strict=True))
        assert shown == pytest.approx(expected, abs=1e-12)


def test_gains_add_up_to_openspiels_best_response():
    solver = solved("leduc_poker", 2_000)
    page = Page(solver)
    overview = page.ask("overview")
    tabular = solver.average_policy().to_tabular()
    numbers = page.numbers()
    players = page.tree.infosets["player"]
    for player in range(2):
        best = best_response.BestResponsePolicy(tabular.game, player, tabular)
        gain = best.value(tabular.game.new_initial_state())
        gain -= overview["returns"][player]
        assert numbers.gains[players == player].sum() == pytest.approx(gain, abs=1e-12)
    rows = page.ask("list", kind="gain")["rows"]
    assert [row["amount"] for row in rows] == sorted(numbers.gains, reverse=True)[:25]
    assert page.ask("list", kind="reached")["rows"][0]["amount"] > 0.1


def test_equal_amounts_are_listed_in_tree_order():
    page = Page(solved("leduc_poker", 0))
    numbers = page.numbers()
    reach = numbers.reach * numbers.plan[page.tree.infosets["parent"]]
    listed = [row["infoset"] for row in page.ask("list", kind="reached")["rows"]]
    assert listed == np.argsort(-reach, kind="stable")[:25].tolist()


def test_evicted_values_are_freed_at_once(monkeypatch, request):
    monkeypatch.setattr(subjects, "KEPT_BYTES", 0)  # two evaluations are always kept
    page = Page({"a": solved("kuhn_poker"), "b": solved("kuhn_poker")})
    values = weakref.ref(page.numbers().values)
    gc.disable()  # only reference counts may free the arrays
    request.addfinalizer(gc.enable)
    for policy in range(3):
        assert values() is not None
        page.ask("overview", policy=policy)
    assert values() is None


def test_search_finds_all_matching_strings():
    page = Page(solved("leduc_poker"))
    tree = page.tree
    wanted = [name for name in tree.info_states if "[Private: 3]" in name]
    found, first = [], 0
    while first is not None:
        reply = page.ask("search", text="[private: 3]", first=first)
        found += [row["info_state"] for row in reply["rows"]]
        first = reply["next"]
    assert sorted(found) == sorted(wanted)
    row = page.ask("search", text=wanted[-1])["rows"][0]
    history = page.ask("belief", number=row["infoset"])["rows"][0]["history"]
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    for action in history:
        state.apply_action(action)
    assert state.information_state_string() == wanted[-1]


def test_lists_and_changes_wait_for_the_tree(monkeypatch):
    policy = solved("kuhn_poker").average_policy().to_dict()
    may_go_on, page = asking.held_tree(monkeypatch), Page(policy, "kuhn_poker")
    assert page.reply("list", kind="gain").json() == {"working": True}
    told = page.do("fix", number=0, row=[0, 1]).json()["error"]
    assert told == page.ask("about")["why"] == "The game's tree is being expanded."
    may_go_on.set()
    assert page.ask("list", kind="gain")["rows"]
    assert page.do("fix", number=0, row=[0, 1]).json()["changes"] == ["Fixed J"]


def test_other_hosts_and_wrong_tokens_are_refused():
    page = Page(solved("kuhn_poker"))
    path = f"/{TOKEN}/api/about"
    assert page.get(path).status == 200
    assert page.get(path, host="localhost:8000").status == 200
    assert page.get(f"/{TOKEN}").headers["location"] == f"/{TOKEN}/"
    assert page.post(f"/{TOKEN}/page.js", b"").status == 405
    for host in ("evil.example", "127.0.0.1.evil.example:80", "", "evil.example:8000"):
        assert page.get(path, host=host).status == 421
    for wrong in ("/", "/api/about", "/another/api/about", f"/{TOKEN}x/api/about"):
        reply = page.get(wrong)
        assert (reply.status, TOKEN in reply.text) == (404, False)
    for header, words in HEADERS.items():
        assert page.get(path).headers[header.lower()] == words
        assert page.get("/").headers[header.lower()] == words


@pytest.mark.parametrize(
    "name",
    ["../server.py", "..%2fserver.py", "/etc/passwd", "page.js/../key", "policy.bin"],
)
def test_only_static_files_are_served(name, tmp_path):
    solver = solved("kuhn_poker")
    (tmp_path / "key").write_text("do not tell")
    solver.average_policy().save(tmp_path / "policy.bin")
    page = Page(tmp_path)
    for path in (name, f"api/{name}"):
        reply = page.get(f"/{TOKEN}/{path}")
        told = [words in reply.text for words in ("do not tell", "uvicorn")]
        assert (reply.status, *told) == (404, False, False)
    assert page.get(f"/{TOKEN}/page.js").status == 200
    assert "<main>" in page.get(f"/{TOKEN}/").text


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("state", {"history": "0,0"}, "no move 0 after deals Jack"),
        ("state", {"history": "", "policy": "7"}, "none of the policies"),
        ("state", {"history": "", "policy": "mine"}, "Nothing was changed yet"),
        ("belief", {"number": "99"}, "none of the information sets"),
        ("belief", {"number": "0", "chosen": "2"}, "none of the moves"),
        ("list", {"kind": "changed"}, "Choose a second policy"),
        ("visit", {"visit": ""}, "did not say which one"),
    ],
)
def test_invalid_requests_get_messages(name, query, words):
    page = Page(solved("kuhn_poker"))
    page.ask("overview")
    reply = page.reply(name, **query)
    assert (reply.status, words in reply.json()["error"]) == (400, True), reply.text


def test_request_bodies_are_validated():
    page = Page(solved("kuhn_poker"))
    for body in (b"", b"[1]", b"{", b"[" * 100_000, b"x" * 2_000_000):
        assert page.post(f"/{TOKEN}/api/fix", body).status == 400
    for row in ("x", [1, "a"], [1], [-1, 2], [0, 0], [float("inf"), 1]):
        assert page.do("fix", number=0, row=row).status == 400, row
    assert page.do("solve", iterations=10**9).status == 400
    told = page.do("solve", iterations=float("inf")).json()["error"]
    assert told == "iterations=inf is not an integer."
    told = page.do("undo").json()["error"]
    assert told == "There is nothing to undo."
    assert page.do("nothing").status == 404


def test_policies_of_another_game_are_refused():
    leduc = solved("leduc_poker", 10).average_policy()
    with pytest.raises(ValueError, match=r"leduc_poker.*not for kuhn_poker"):
        Subject({"a": solved("kuhn_poker"), "b": leduc})
    with pytest.raises(
        ValueError, match=r"^This dict does not name its game; pass game"
    ):
        Subject({"0": {0: 0.5, 1: 0.5}})
    with pytest.raises(ValueError, match="Solver is a class"):
        Subject(ms.Solver)


def test_only_identifiable_bids_are_revealed():
    state = turn_based(pyspiel.load_game("goofspiel(num_cards=3,imp_info=True)"))
    state = state.new_initial_state().child(1).child(0)  # the card 2, and a bid of 1
    told = [seen_moves(state, seat) for seat in range(2)]
    assert told == [[True, False, False], [True, True, True]]  # a tie, lost, lost


def test_functions_and_openspiels_solvers_are_shown():
    solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
    for what in (lambda _, legal, __: legal / legal.sum(axis=1)[:, None], solver):
        page = Page(what, "kuhn_poker")
        assert page.numbers().returns == pytest.approx([0.125, -0.125])
        seen = page.ask("state", history="0,1")["infoset"]
        assert seen["probabilities"] == [0.5, 0.5]


# --- changes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixed", "value"),
    [({"0": [0.0, 1.0]}, -5 / 18), ({"0": [0.5, 0.5], "1pb": [1.0, 0.0]}, -1 / 6)],
)
def test_solve_reaches_value_of_the_restricted_game(fixed, value):
    """The expected values come from linear programs, solved by HiGHS, in which
    equations fix the policy."""
    tree = ms.GameTree("kuhn_poker").expand_all()
    policy, numbers = uniform_vector(tree), set()
    for name, row in fixed.items():
        numbers.add(tree.find(name, 0))
        policy = with_row(tree, policy, [tree.find(name, 0)], row)
    solver = restricted_solver(tree, policy, frozenset(numbers))
    solver.iterate(2_000)
    found = solver.average_vector()
    assert ms.expected_returns(tree, found)[0] == pytest.approx(value, abs=2e-3)
    best = full_pass(tree).best_within(found, numbers)
    # Each player's best response in the restricted game is close to the value, too.
    assert best == pytest.approx([value, -value], abs=5e-3)
    for name, row in fixed.items():
        start = tree.infosets[tree.find(name, 0)]["first_sequence"]
        assert found[start : start + 2].tolist() == row


def test_pages_do_not_share_changes():
    page = Page(solved("kuhn_poker"))
    page.do("fix", policy="0", number=3, row=[1, 0])
    assert len(page.ask("visit")["changes"]) == 1
    assert page.ask("visit", visit="another")["changes"] == []
    assert page.do("undo", visit="another").status == 400
    assert len(page.ask("visit")["changes"]) == 1


# --- hands -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "seat"), [("leduc_poker", 0), ("kuhn_poker(players=3)", 1), (GOOFSPIEL, 1)]
)
def test_played_hand_is_a_game_of_openspiel(game, seat):
    page = Page(solved(game))
    page.ask("overview")
    view = page.do("deal", seat=seat).json()
    played = []
    while not view["over"]:
        assert all(one["name"] for one in view["log"] if one["player"] == seat)
        played.append(view["moves"][0]["action"])
        view = page.do("move", action=played[-1]).json()
    state = page.answers.subject.game.new_initial_state()
    own = []
    for action in view["history"]:
        if state.current_player() == seat:
            own.append((page.infoset(state)["infoset"], action))
        state.apply_action(action)
    assert [action for _, action in own] == played
    assert view["returns"] == state.returns()
    if own:  # the user always plays the first legal move
        here = own[-1][0]
        rows = page.ask("belief", number=here["number"], chosen=0)["rows"]
        assert sum(row["belief"] for row in rows) == pytest.approx(1)
        # The belief-weighted mean over histories is the value of the move.
        worth = sum(row["belief"] * row["value"] for row in rows)
        assert worth == pytest.approx(here["values"][0], abs=1e-12)
    assert page.do("move", action=0).status == 400


def test_page_receives_only_the_seats_information():
    page = Page(solved("kuhn_poker"))
    for _ in range(10):
        view = page.do("deal", seat=0).json()
        mine, theirs = view["log"]
        assert mine["name"] in ("deals Jack", "deals Queen", "deals King")
        assert theirs["name"] is None
        assert view["knows"] == mine["name"].split()[1][0]
        assert not {"history", "text"} & view.keys()
    assert page.do("move", action=7).status == 400
    assert page.do("deal", seat=2).status == 400


def test_grid_of_kuhn_poker_has_every_card():
    solver = solved("kuhn_poker", 2_000)
    page = Page(solver)
    page.ask("overview")
    grid = page.ask("grid", history="0,1,0,1")  # player 0 after pass and bet
    policy = solver.average_policy()
    assert [row["label"] for row in grid["rows"]] == ["J", "Q", "K"]
    for card, row in enumerate(grid["rows"]):
        assert row["probabilities"] == pytest.approx([*policy[f"{card}pb"].values()])


# --- opened, exported, still being written -----------------------------------


def fetch(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as reply:
        return reply.read().decode()


def test_page_is_served_on_loopback_until_stopped():
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


def test_websocket_handshakes_log_nothing(capfd):
    pytest.importorskip("wsproto")  # lets uvicorn accept WebSockets
    lines = [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ]
    with ms.explore(solved("kuhn_poker")) as page:
        match = re.fullmatch(r"http://([^/]+)(/.*)", page.url)
        assert match is not None
        host, path = match.groups()
        port = int(host.split(":")[1])
        for _ in range(5):
            request = "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", *lines])
            with socket.create_connection((HOST, port), timeout=10) as line:
                line.sendall(f"{request}\r\n\r\n".encode())
                assert line.recv(100).startswith((b"HTTP/1.1 200", b"HTTP/1.1 4"))
        assert "<main>" in fetch(page.url)
    assert capfd.readouterr() == ("", "")


def own_addresses():
    """The machine's addresses other than loopback."""
    found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    return {str(one[4][0]) for one in found} - {HOST, "127.0.1.1"}


def test_port_in_use_is_reported(capsys, tmp_path):
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


def test_metric_missing_in_first_row_has_a_column():
    solver = ms.Solver("kuhn_poker", ms.CFR)
    solver.run(2, metrics=[])
    solver.run(2, metrics=[ms.metrics.nash_conv])
    found = Page(solver).ask("rows")["columns"]["nash_conv"]
    assert found[0] is None
    assert found[-1] > 0


@pytest.fixture
def results(tmp_path, capsys):
    """The folder of a run of Kuhn poker."""
    folder = tmp_path / "run"
    words = ["solve", "kuhn_poker", "--iterations=300", f"--output_dir={folder}"]
    assert main([*words, "--figure_format=svg"]) == 0
    capsys.readouterr()
    return folder


def test_command_exports_page_with_rows_of_run(results, tmp_path, capsys):
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
    assert set(links) == {"http://www.w3.org/2000/svg"}  # a namespace, not a link


def data_of(path):
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'json" id="data">(.*?)</script>', text)
    return json.loads(found)


def test_command_reports_errors(tmp_path, capsys, results):
    solved("leduc_poker", 10).average_policy().save(tmp_path / "leduc.bin")
    for words, told in (
        ([], "the file of a policy is required"),
        (["nowhere"], "not found: nowhere"),
        ([str(tmp_path)], "contains no policy"),
        ([str(results), str(tmp_path / "leduc.bin")], "is a policy for leduc_poker"),
        ([str(results), "--game=leduc_poker"], "expected leduc_poker"),
    ):
        assert main(["explore", *words, f"--export={tmp_path / 'page.html'}"]) == 1
        assert told in capsys.readouterr().err
    (results / "policy.json").write_text("{")
    assert main(["explore", str(results), f"--export={tmp_path / 'page.html'}"]) == 1
    assert "policy.json" in capsys.readouterr().err


def test_hostile_strings_are_escaped_in_exported_page(tmp_path):
    path = tmp_path / "page.html"
    export(Subject(hostile_policy()), path)
    text = path.read_text(encoding="utf-8")
    assert "<img" not in text
    assert text.count("<script") == 3
    assert "stolen=1</script>" not in text
    saved = data_of(path)
    assert saved["infosets"][0][0]["info_state"] == HOSTILE
    assert saved["states"]["0"]["moves"][0]["name"] == "<b>left</b>" + HOSTILE
