"""Tables of information sets and their names, identity of games, locks, and estimates
of the sizes of walks."""
