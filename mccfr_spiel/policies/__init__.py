"""Policies as vectors over sequences, the files they are saved in, and bots."""
