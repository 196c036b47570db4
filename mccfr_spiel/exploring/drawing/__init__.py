"""Drawings of small game trees as SVG, PDF or PNG."""
