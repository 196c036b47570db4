"""The words of reprs: one line, whatever the object, and never an error."""

import math

import numpy as np
import pyspiel
import pytest

from mccfr_spiel.display import (
    counted,
    html_table,
    line,
    never_raises,
    one_line,
    one_lines,
    plus_minus,
    text_table,
    title,
)


def test_a_title_names_the_parameters_that_are_not_the_defaults():
    assert title(pyspiel.load_game("kuhn_poker")) == "Kuhn Poker"
    three = pyspiel.load_game("kuhn_poker(players=3)")
    assert title(three) == "Kuhn Poker (players=3)"


def test_counts_have_commas_and_a_plural():
    assert [counted(n, "node") for n in (0, 1, 3_000_000)] == [
        "0 nodes",
        "1 node",
        "3,000,000 nodes",
    ]


@pytest.mark.parametrize(
    ("middle", "half_width", "shown"),
    [
        (-0.0556, 0.00119, "-0.0556 +- 0.0012"),
        (123.4, 17.2, "123 +- 18"),  # 18 since 123 is 0.4 off
        (0.5, 0.0, "0.5"),
        (1 / 3, 1e-17, "0.333333333333"),
        (-0.001, 0.4, "0.00 +- 0.41"),  # not -0.00
        (0.5, math.inf, "0.5"),
        (0.5, math.nan, "0.5"),
    ],
)
def test_an_interval_shows_two_digits_of_its_width(middle, half_width, shown):
    assert plus_minus(middle, half_width) == shown


def test_what_is_shown_of_an_interval_holds_all_of_it():
    generator = np.random.default_rng(0)
    for _ in range(300):
        middle = generator.normal() * 10.0 ** generator.integers(-3, 4)
        half_width = abs(middle) * 10.0 ** generator.uniform(-6, 1)
        center, wide = map(float, plus_minus(middle, half_width).split(" +- "))
        slack = 1e-6 * half_width
        assert center - wide <= middle - half_width + slack
        assert center + wide >= middle + half_width - slack
        assert wide < 1.2 * half_width


def test_what_cannot_be_printed_is_escaped_and_long_texts_lose_their_middle():
    assert one_line("a\nb\0\udc80é") == "a\\nb\\x00\\udc80é"
    assert one_line("x" * 50 + "y" * 50, 13) == "xxxxx...yyyyy"


def test_texts_that_differ_in_the_middle_are_shown_longer():
    texts = ["a" * 50 + letter + "b" * 50 for letter in "123"]
    assert len(set(one_lines(texts, 20))) == 3
    assert one_lines(["a" * 50], 20) == ["a" * 8 + "..." + "a" * 9]
    assert one_lines(["same" * 50] * 2, 20)[0] == one_line("same" * 50, 20)


def test_a_repr_that_fails_is_a_bare_one():
    class Broken:
        @never_raises
        def __repr__(self) -> str:
            return line(self, str(1 / 0))

    assert repr(Broken()).startswith("<Broken at 0x")


def test_tables_align_numbers_to_the_right_and_escape_html():
    table = text_table(("name", "number"), [("a", "1"), ("bc", "1,000")], {1})
    assert table.splitlines() == ["name  number", "a          1", "bc     1,000"]
    html = html_table(("<b>", "n"), [("a&b", "1")], {1}, caption="c", note="more")
    assert "&lt;b&gt;" in html
    assert "a&amp;b" in html
    assert "<caption" in html
    assert html.endswith("<div>more</div></div>")
