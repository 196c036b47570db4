"""What a Solver is made of: its state, and the files that keep it."""
