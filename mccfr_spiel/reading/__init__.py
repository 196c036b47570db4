"""Reads back what the package writes, whatever wrote it."""
