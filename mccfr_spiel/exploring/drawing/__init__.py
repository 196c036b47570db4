"""Drawings of game trees as SVG, PDF, PNG or TikZ, without the page.

| file | contents |
|---|---|
| tree_drawing.py | `draw_tree`, and the drawing that it returns |
| drawn_nodes.py | the nodes of a drawing and their texts |
| layout.py | coordinates of nodes and links |
| picture.py | the SVG |
| printing.py | PDF and PNG by matplotlib |
| tikz.py | LaTeX code |
"""
