"""Policies as vectors over sequences, and the files that they are saved in."""
