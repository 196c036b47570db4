"""Stored trees: expansion of pyspiel games into arrays, expansion of missing nodes
during walks, and files."""
