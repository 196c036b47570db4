"""Drawings of small trees: contents and layout of the SVG, files, refusals."""

import io
import re
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.phrases import said_at, said_info_state
from mccfr_spiel.exploring.drawing.printing import printed
from tests.arenas.tree.test_game_tree import histories
from tests.small_games import chance, leaf, move, small_game

SVG = "{http://www.w3.org/2000/svg}"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "matrix_rps", GOOFSPIEL]


def parsed(drawing):
    return ElementTree.fromstring(drawing.svg)


def words(root):
    return [element.text for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", GAMES)
def test_every_node_move_and_return_is_drawn(name):
    states = list(histories(pyspiel.load_game(name)))
    root = parsed(ms.draw_tree(name, max_nodes=700))
    written = words(root)
    assert len([*root.iter(f"{SVG}path")]) >= len(states) - 1  # edges, and links
    assert len([*root.iter(f"{SVG}polygon")]) == sum(s.is_chance_node() for s in states)
    circles = [c for c in root.iter(f"{SVG}circle") if c.get("r") == "10"]
    assert len(circles) == sum(s.current_player() >= 0 for s in states)
    shown = {c.findtext(f"{SVG}title") for c in circles}
    for state in states:
        if state.is_terminal():
            returns = ", ".join(f"{value:g}" for value in state.returns())
            assert returns in written
        elif state.current_player() >= 0:
            player = state.current_player()
            string = state.information_state_string(player)
            known = said_info_state(state.get_game(), player, string)
            assert f"player {player}: {known}" in shown
            for name in said_at(state, player, state.legal_actions()):
                assert name in written


def test_edges_show_probability_as_number_and_width():
    policy = {  # the moves Pass and Bet
        **{key: {0: 0.25, 1: 0.75} for key in ["0", "1", "2", "0pb", "1pb", "2pb"]},
        **{key: {0: 0.0, 1: 1.0} for key in ["0p", "1p", "2p", "0b", "1b", "2b"]},
    }
    root = parsed(ms.draw_tree("kuhn_poker", policy))
    written = words(root)
    # 6 deals; player 0 decides 12 times, player 1 as often.
    assert written.count("Pass 0.25") == written.count("Bet 0.75") == 12
    assert written.count("Pass 0.00") == written.count("Bet 1.00") == 12
    edges = [p for p in root.iter(f"{SVG}path") if p.get("class") == "edge"]
    widths = [float(p.get("stroke-width", "")) for p in edges]
    assert sorted(set(widths)) == [0.8, 1.0, 1.6, 3.2, 4.0]
    assert sum(p.get("stroke-dasharray") is not None for p in edges) == 12
    each = parsed(ms.draw_tree("kuhn_poker", [policy, policy]))
    assert words(each) == written


def test_line_with_dots_joins_nodes_of_an_infoset():
    """Each of the 12 infosets of Kuhn poker has two nodes."""
    root = parsed(ms.draw_tree("kuhn_poker"))
    links = [p for p in root.iter(f"{SVG}path") if "link" in p.get("class", "")]
    dots = [c for c in root.iter(f"{SVG}circle") if c.get("r") == "3"]
    assert (len(links), len(dots)) == (12, 24)
    below = [move(1, name, leaf(1.0, -1.0), leaf(0.0, 0.0)) for name in ("b", "c")]
    seen = parsed(ms.draw_tree(small_game(move(0, "a", *below))))  # has no secrets
    assert not [p for p in seen.iter(f"{SVG}path") if "link" in p.get("class", "")]


def test_large_games_are_refused_with_their_size():
    with pytest.raises(ValueError, match=r"leduc_poker\(\) has 9,457 nodes.*400"):
        ms.draw_tree("leduc_poker")
    with pytest.raises(ValueError, match="more than 100,000 nodes"):
        ms.draw_tree("liars_dice")
    with pytest.raises(ValueError, match="58 nodes, and a drawing of more than 57"):
        ms.draw_tree("kuhn_poker", max_nodes=57)
    with pytest.raises(ValueError, match="max_nodes=0"):
        ms.draw_tree("kuhn_poker", max_nodes=0)


def test_strange_strings_make_valid_xml():
    odd = 'a\0<&>"\n' + "x" * 200
    tree = chance((0.5, move(0, odd, leaf(1.0, -1.0))), (0.5, leaf(0.0, 0.0)))
    root = parsed(ms.draw_tree(small_game(tree)))
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(text.startswith("player 0: a\\x00<&>") for text in titles)


def test_suffix_decides_file_format(tmp_path):
    drawing = ms.draw_tree("matrix_rps")
    for kind, begins in (("svg", b"<svg"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")):
        drawing.save(tmp_path / f"tree.{kind}")
        assert (tmp_path / f"tree.{kind}").read_bytes().startswith(begins)
    saved = (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert saved == drawing.svg == drawing._repr_svg_()
    assert "prefers-color-scheme: dark" in saved
    with pytest.raises(ValueError, match=r"end with \.svg, \.pdf, \.png or \.tex"):
        drawing.save(tmp_path / "tree.gif")


def test_printed_drawing_has_all_colours():
    from matplotlib.image import imread

    drawing = ms.draw_tree("kuhn_poker")
    pixels = imread(io.BytesIO(printed(drawing.svg, "png")))[..., :3]
    found = {tuple(one) for one in (pixels.reshape(-1, 3) * 255).round().astype(int)}
    for colour in ("2563c9", "c2410c", "8c959f", "6e7781", "1f2328", "15803d"):
        assert tuple(bytes.fromhex(colour)) in found, colour
    root = parsed(drawing)
    size = [round(float(root.get(name, 0)) * 200 / 96) for name in ("height", "width")]
    assert abs(np.subtract(pixels.shape[:2], size)).max() <= 1


def test_part_of_a_large_tree_is_drawn():
    history = [0, 3, 2]  # Jack and Queen; player 0 has bet
    policy = ms.Solver("leduc_poker", seed=1).average_policy()
    root = parsed(ms.draw_tree("leduc_poker", policy, around="0, 3, 2", depth=1))
    written = words(root)
    assert {"Fold 0.33", "Call 0.33", "Raise 0.33"} <= set(written)
    assert written.count("\u2026") == 2  # a chance node, and player 0 after a raise
    assert "1, -1" in written  # after a fold, a leaf

    def named(**more):  # infosets are numbered in another order
        drawn = words(parsed(ms.draw_tree("kuhn_poker", **more)))
        return [word for word in drawn if not word[0].isdigit()]

    assert named(around=[], depth=9) == named()
    wrong: Any = (
        ({"around": [*history, 7]}, r"7 is none of the moves \[0, 1, 2\] after"),
        ({"around": "two"}, "expected a list of actions, such as"),
        ({"depth": -1}, "depth=-1 must be an integer"),
    )
    for given, said in wrong:
        with pytest.raises(ValueError, match=said):
            ms.draw_tree("leduc_poker", **given)
    with pytest.raises(ValueError, match="more than 400 nodes there"):
        ms.draw_tree(GOOFSPIEL.replace("=3", "=13"), around=[], depth=4)
    with pytest.raises(ValueError, match="with an OpenSpiel policy, not with"):
        ms.draw_tree("leduc_poker", {}, around=history)


def test_tikz_picture_has_all_elements_and_escapes_tex(tmp_path):
    game = small_game(move(0, "50% & more_", leaf(1.0, 0.0), leaf(0.0, 1.0)))
    drawing = ms.draw_tree(game)
    drawing.save(tmp_path / "tree.tex")
    text = (tmp_path / "tree.tex").read_text()
    root = parsed(drawing)
    assert r"50\% \& more\_" in text
    assert text.count(r"\node[") == len(words(root))
    assert text.count(r"\draw[") == len([*root.iter(f"{SVG}path")])
    assert text.count("circle [radius") == len([*root.iter(f"{SVG}circle")])
    used = {*re.findall(r"\\(?:node|draw|fill)\[(gt\w+)", text)}
    assert used <= {*re.findall(r"\\providecolor\{(gt\w+)\}", text)}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX with TikZ")
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "special"])
def test_latex_compiles_the_tikz_picture(name, tmp_path):
    game, around = name, [0, 1]
    if name == "special":
        label = '"#$%&_{}\\^~<>|\N{BLACK SPADE SUIT}'
        game, around = small_game(move(0, label, leaf(1.0, 0.0), leaf(0.0, 1.0))), []
    ms.draw_tree(game, around=around, depth=3).save(tmp_path / "tree.tex")
    (tmp_path / "slide.tex").write_text(
        "\\documentclass{article}\\usepackage{tikz}\\begin{document}"
        "\\definecolor{gtfill0}{rgb}{1,0,0}\\input{tree}\\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "slide.tex"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert process.returncode == 0, process.stdout.decode(errors="replace")
