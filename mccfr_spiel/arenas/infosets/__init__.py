"""Identity of games, tables of information sets, names, locks and estimated walk
sizes."""
