"""Stored trees: expansion of pyspiel games into arrays, growth during walks, and
files."""
