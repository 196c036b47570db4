"""A bot that learns while it plays."""
