"""The page in headless Chromium, if Chromium and chromedriver are installed."""

import re
import shutil
import threading
import time

import pyspiel
import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.exploring import policy_numbers
from mccfr_spiel.exploring.exporting import export
from mccfr_spiel.exploring.page_api import WORKING, PageApi
from mccfr_spiel.exploring.subjects import Subject
from tests.exploring import asking
from tests.exploring.asking import HOSTILE, hostile_policy, numbers_of_first, solved

BROWSERS = "chromium", "chromium-browser", "google-chrome"
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"),
    *("--disable-component-update", "--disable-sync", "--window-size=1300,1000"),
)
PATIENCE = 60


def options(program: str) -> webdriver.ChromeOptions:
    chosen = webdriver.ChromeOptions()
    chosen.binary_location = program
    for argument in ARGUMENTS:
        chosen.add_argument(argument)
    chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return chosen


@pytest.fixture(scope="module")
def browser():
    programs = list(filter(None, map(shutil.which, BROWSERS)))
    driver = shutil.which("chromedriver")
    if not programs or driver is None:
        pytest.skip("There is no Chromium with its driver (chromium, chromedriver).")
    found, reasons = None, []
    for program in programs:  # the driver fits only one of them
        try:
            found = webdriver.Chrome(options=options(program), service=Service(driver))
            break
        except WebDriverException as error:
            reasons.append(f"{program} does not start: {error.msg}")
    if found is None:
        pytest.skip(" ".join(reasons))
    yield found
    found.quit()


class Tab:
    """A browser tab, with the actions of a user."""

    def __init__(self, browser, url, *moves):
        self.browser = browser
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(f"{url}#{','.join(map(str, moves))}")
        self.until(lambda: self.script("return document.documentElement.dataset.ready"))

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def until(self, is_so):
        end = time.monotonic() + PATIENCE
        while not self.tried(is_so):
            assert time.monotonic() < end, self.text("body")
            time.sleep(0.05)

    def tried(self, is_so):
        """Whether a condition holds; False if the page was redrawn meanwhile."""
        try:
            return is_so()
        except StaleElementReferenceException:
            return False

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        self.until(lambda: self.all(selector))
        return self.all(selector)[0]

    def text(self, selector):
        """The visible text of an element."""
        return self.script(
            "return document.querySelector(arguments[0])?.innerText || ''", selector
        )

    def content(self, selector):
        """The text of an element, visible or hidden."""
        return self.script(
            "return document.querySelector(arguments[0])?.textContent || ''", selector
        )

    def click(self, selector):
        element = self.one(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def wait_for_values(self):
        self.until(lambda: self.all("#value-here"))

    def complaints(self):
        return [one["message"] for one in self.browser.get_log("browser")]


@pytest.fixture(scope="module")
def leduc():
    solver = solved("leduc_poker", 2_000)
    with ms.explore(solver) as page:
        numbers_of_first(page.subject)
        yield solver, page


def test_state_shows_openspiels_numbers(browser, leduc):
    solver, page = leduc
    tab = Tab(browser, page.url, 0, 2, 1)
    tab.wait_for_values()
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    for action in (0, 2, 1):
        state.apply_action(action)
    assert tab.text("h1") == "Leduc Poker"
    assert tab.text("#text").split() == str(state).split()
    assert tab.content("#info-state") == state.information_state_string()
    odds = solver.average_policy().action_probabilities(state)
    assert texts(tab, "#moves .p") == [f"{p:.3f}" for p in odds.values()]
    assert texts(tab, "#moves button.move") == ["Check", "Bet"]
    tab.click("#tab-whole")
    tab.until(lambda: tab.all("#nash-conv"))
    nash_conv = ms.nash_conv("leduc_poker", solver.average_policy())
    assert tab.text("#nash-conv") == f"{nash_conv:.3f}"
    returns = ms.expected_returns("leduc_poker", solver.average_policy())
    shown = texts(tab, "#overview tbody tr td:nth-child(2)")
    assert shown == [f"{x:.3f}" for x in returns]
    assert not tab.complaints()


def test_large_conditional_gaps_are_listed_and_marked(browser, leduc):
    solver, page = leduc
    gaps = ms.evaluation.conditional_gaps("leduc_poker", solver.average_policy())
    tab = Tab(browser, page.url)
    Select(tab.one("#list")).select_by_value("gap")
    tab.until(lambda: texts(tab, "#results .amount")[:1] == [f"{gaps.max:.3f}"])
    assert texts(tab, "#results .gap-note")[0] == f"Conditional gap {gaps.max:.3f}"
    tab.click("#results li button")
    tab.until(lambda: tab.text("#gap-here") == f"{gaps.max:.3f}")
    assert f"a best response gains {gaps.max:.3f}" in tab.text("#gap-note")
    tab.until(lambda: tab.all("#near .gap-ring"))
    assert not tab.complaints()


def test_walking_by_clicks_and_by_keys(browser, leduc):
    _, page = leduc
    tab = Tab(browser, page.url)
    assert tab.text("#where") == "Chance deals"
    tab.click("#moves button.move")
    tab.until(lambda: len(tab.all("#path button")) == 2)
    body = tab.one("body")
    body.send_keys(Keys.ARROW_DOWN)
    body.send_keys(Keys.ARROW_DOWN)
    tab.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    tab.until(lambda: tab.text("#where") == "Player 0 is to move")
    assert len(tab.all("#path button")) == 3
    tab.one("body").send_keys(Keys.ARROW_LEFT)
    tab.until(lambda: tab.text("#where") == "Chance deals")
    tab.browser.back()
    tab.until(lambda: tab.text("#where") == "Player 0 is to move")
    tab.wait_for_values()
    tab.until(lambda: tab.all("#belief button.history"))
    beliefs = [float(cell.text) for cell in tab.all("#belief .p")]
    assert sum(beliefs) == pytest.approx(1, abs=0.001)
    assert not tab.complaints()


def test_slow_requests_are_repeated(browser, leduc, monkeypatch):
    _, page = leduc
    answer, asked = PageApi.answer, set()
    before = {"belief": "list", "grid": "grid", "search": "search"}

    def slow(answers, name, query):
        is_early = name in before and before[name] not in asked
        asked.add(name)
        return WORKING if is_early else answer(answers, name, query)

    monkeypatch.setattr(PageApi, "answer", slow)
    tab = Tab(browser, page.url, 0, 2)
    tab.one("#results li")  # a list, which the search clears
    tab.one("#search").send_keys("[private: 3]", Keys.ENTER)
    tab.until(lambda: "search" in asked and tab.all("#results li"))
    tab.click("#results li button")
    tab.until(lambda: "[Private: 3]" in tab.content("#info-state"))
    tab.click("#tab-cards")
    tab.until(lambda: len(tab.all("#panel tbody th")) == 6)
    assert asked >= before.keys()
    assert not tab.complaints()


def test_missing_state_of_policy_is_reported(browser):
    with ms.explore({"0": {0: 1.0, 1: 0.0}}, "kuhn_poker") as page:
        tab = Tab(browser, page.url, 0, 1)
        tab.click("#tab-whole")
        tab.until(lambda: "Unknown state" in tab.text("#error"))
        tab.until(lambda: "Computing" not in tab.text("main"))


def test_beliefs_appear_with_the_tree(browser, monkeypatch):
    policy = solved("kuhn_poker").average_policy().to_dict()
    answer, was_shown = PageApi.answer, asking.held_tree(monkeypatch)

    def answer_first(answers, name, query):
        found = answer(answers, name, query)
        if name == "state":
            was_shown.set()
        return found

    monkeypatch.setattr(PageApi, "answer", answer_first)
    with ms.explore(policy, "kuhn_poker") as page:
        tab = Tab(browser, page.url, 0, 1)
        tab.until(lambda: len(tab.all("#belief button.history")) == 2)
        tab.click("#tab-find")
        tab.until(lambda: "Most mixed" in tab.text("#list"))
        assert "other policy" not in tab.text("#list")  # there is no other policy
        assert not tab.complaints()


def test_fixing_solving_and_undoing(browser):
    solver = solved("kuhn_poker", 2_000)
    with ms.explore(solver) as page:
        numbers_of_first(page.subject)
        tab = Tab(browser, page.url, 0, 1)
        tab.wait_for_values()
        tab.click("#tab-change")
        tab.one("input.fix")
        for field, number in zip(tab.all("input.fix"), ("0", "1"), strict=True):
            field.clear()
            field.send_keys(number)
        tab.click("#fix")
        tab.until(lambda: tab.text("#changes").startswith("Fixed J"))
        tab.until(lambda: [p.text for p in tab.all("#moves .p")] == ["0.000", "1.000"])
        tab.click("#solve")
        tab.until(lambda: "Solved for 500" in tab.text("#changes"))
        tab.until(lambda: tab.all("#nash-conv-after"))
        # If player 0 bets the lowest card as often as the highest, player 1 calls with
        # the middle card, and the value falls from -1/18 to -5/18.
        value = float(tab.all("#effect tbody tr td:nth-child(3)")[0].text)
        assert value == pytest.approx(-5 / 18, abs=0.001)
        tab.click("#undo")
        tab.until(lambda: "Solved" not in tab.text("#changes"))
        tab.click("#undo")
        tab.until(lambda: not tab.all("#changes"))
        assert not tab.complaints()


def test_button_stops_solve(browser):
    with ms.explore(solved("leduc_poker")) as page:
        numbers_of_first(page.subject)
        tab = Tab(browser, page.url, 0, 1)
        tab.click("#tab-change")
        assert tab.one("#stop").get_attribute("disabled")
        tab.one("#iterations").clear()
        tab.one("#iterations").send_keys("100000")
        tab.click("#solve")
        tab.until(lambda: re.search(r"Solving: [1-9]", tab.text("#solving")))
        tab.click("#stop")
        pattern = r"Solved for [1-9][\d,]* iterations of 100,000"
        tab.until(lambda: re.fullmatch(pattern, tab.text("#changes")))
        tab.until(lambda: not tab.one("#solve").get_attribute("disabled"))
        assert not tab.complaints()


def test_drawing_follows_walk_during_computation(browser, monkeypatch):
    numbers_of, may_go_on = policy_numbers.numbers_of, threading.Event()
    monkeypatch.setattr(
        policy_numbers,
        "numbers_of",
        lambda *args: may_go_on.wait(60) and numbers_of(*args),
    )
    with ms.explore(solved("leduc_poker")) as page:
        page.subject.tree(60)
        tab = Tab(browser, page.url)

        def drawn():
            path = "document.querySelector('#near a.here')?.getAttribute('href')"
            return tab.script(f"return {path}")

        for moves in ("0,1", "0,1,1", "0,1,1,2"):
            tab.script("location.hash = arguments[0]", moves)
            tab.until(lambda moves=moves: drawn() == f"#{moves}")
            assert tab.one("#working").is_displayed()
            assert not tab.all("#value-here")
        may_go_on.set()
        tab.wait_for_values()
        tab.until(lambda: drawn() == "#0,1,1,2")
        assert not tab.complaints()


@pytest.mark.parametrize(
    ("algorithm", "is_sampled"), [(ms.CFR_PLUS, False), (ms.EXTERNAL_SAMPLING, True)]
)
def test_only_sampling_algorithms_show_sample_counts(browser, algorithm, is_sampled):
    solver = ms.Solver("kuhn_poker", algorithm)
    solver.iterate(5)
    with ms.explore(solver) as page:
        numbers_of_first(page.subject)
        tab = Tab(browser, page.url, 0, 1)
        tab.wait_for_values()
        tab.one("#results li")
        tab.until(lambda: tab.all("#near a.here"))
        assert ("ampled" in tab.text("main")) == is_sampled
        tab.click("#tab-cards")
        tab.until(lambda: len(tab.all("#panel tbody th")) == 3)
        assert ("ampled" in tab.text("#panel")) == is_sampled


def test_hostile_strings_stay_text(browser, tmp_path):
    policy = hostile_policy()
    path = tmp_path / "page.html"
    export(Subject(policy), path)
    with ms.explore(policy) as page:
        for url in (page.url, path.as_uri()):
            tab = Tab(browser, url, 0)
            tab.wait_for_values()
            assert tab.script("return window.stolen") is None
            assert not tab.all("img, iframe, #moves script, #panel script")
            assert HOSTILE in tab.content("#info-state")
            assert any("<b>" in name for name in texts(tab, "#moves button.move"))
            assert not tab.complaints()


def test_an_exported_page_needs_no_server(browser, tmp_path):
    solver = solved("kuhn_poker", 1_000)
    path = tmp_path / "page.html"
    export(Subject(solver), path)
    tab = Tab(browser, path.as_uri(), 0, 1)
    tab.wait_for_values()
    odds = solver.average_policy()["0"]
    assert [p.text for p in tab.all("#moves .p")] == [f"{p:.3f}" for p in odds.values()]
    tab.click("#moves button.move")
    tab.until(lambda: tab.text("#where") == "Player 1 is to move")
    box = tab.one("#search")
    box.send_keys("2pb", Keys.ENTER)
    tab.until(lambda: texts(tab, "#results .mono") == ["K | pass, bet"])
    tab.click("#results li button")
    tab.until(lambda: tab.content("#info-state") == "2pb")
    tab.click("#tab-whole")
    nash_conv = ms.nash_conv("kuhn_poker", solver.average_policy())
    tab.until(lambda: tab.text("#nash-conv") == f"{nash_conv:.3f}")
    Select(tab.one("#other")).select_by_visible_text("current policy")
    tab.until(lambda: len(tab.all("#moves thead th")) == 7)
    assert not tab.complaints()


def test_exported_page_plays_by_the_policy_and_hides_cards(browser, tmp_path):
    solver = solved("kuhn_poker", 1_000)
    policy = solver.average_policy()
    path = tmp_path / "page.html"
    export(Subject(solver), path)
    tab = Tab(browser, path.as_uri())
    # 1,500 hands from seat 1, where player 0's card stays hidden.
    hands = tab.script("""
        return Array.from({length: 1500}, () => {
          const view = answerFromFile("deal", {seat: 1, policy: "0"});
          return [game.history, view.log.map((one) => one.name), view.knows, view.over];
        })""")
    bets = {card: [h[2] for h, *_ in hands if h[0] == card] for card in range(3)}
    for card, seen in bets.items():
        assert len(seen) / len(hands) == pytest.approx(1 / 3, abs=0.05)
        assert sum(seen) / len(seen) == pytest.approx(policy[str(card)][1], abs=0.08)
    for history, names, knows, over in hands:
        card = ("Jack", "Queen", "King")[history[1]]
        assert names == [None, f"deals {card}", "Bet" if history[2] else "Pass"]
        assert (knows, over) == (f"{card[0]} | {names[2].lower()}", False)
    tab.click("#tab-play")
    tab.click("#deal")
    for _ in range(2):
        tab.until(lambda: tab.all("#result") or tab.all("#hand-moves button"))
        if not tab.all("#result"):
            tab.click("#hand-moves button")
    tab.until(lambda: tab.all("#review table"))
    tab.click("#tab-change")
    assert "takes the page's server" in tab.text("#needs-server")
    assert not tab.complaints()


def test_slider_shows_saved_policies_of_a_run(browser, tmp_path):
    folder = tmp_path / "run"
    words = ["solve", "kuhn_poker", "--iterations=1000", f"--output_dir={folder}"]
    assert main([*words, "--keep_policies=1", "--figure_format=svg"]) == 0
    path = tmp_path / "page.html"
    kept = [ms.load_policy(folder / f"policy_after_{10**k}.bin") for k in range(4)]
    export(Subject(folder), path)
    with ms.explore(folder) as page:
        for url in (page.url, path.as_uri()):
            tab = Tab(browser, url, 0, 1)
            tab.wait_for_values()
            tab.click("#tab-curve")
            tab.until(lambda tab=tab: len(tab.all("#course tbody tr")) == 4)
            shown = [cell.text for cell in tab.all("#course tbody td")]
            odds = [p for policy in kept for p in policy["0"].values()]
            assert shown == [f"{p:.3f}" for p in odds]
            for step in (0, 2):
                tab.script(
                    "const slider = document.querySelector('#slider');"
                    "slider.value = arguments[0];"
                    "slider.dispatchEvent(new Event('input'));",
                    step,
                )
                here = [f"{p:.3f}" for p in kept[step]["0"].values()]
                tab.until(lambda tab=tab, here=here: texts(tab, "#moves .p") == here)
                assert texts(tab, "#course [aria-current] th") == [f"{10**step:,}"]
            assert not tab.complaints()


def texts(tab, selector):
    return [element.text for element in tab.all(selector)]
