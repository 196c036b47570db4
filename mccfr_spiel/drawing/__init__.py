"""Trees of small games as pictures, drawn without any other program."""

from mccfr_spiel.drawing.trees import TreeDrawing, draw_tree

__all__ = ["TreeDrawing", "draw_tree"]
