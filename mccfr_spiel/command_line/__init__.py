"""The program `mccfr-spiel`.

main.py         the subcommands, and the parsing of their flags
running.py      solve and experiment, which run_experiments.py offers, too
comparing.py    compare
describing.py   info
playing.py      play
signals.py      how Ctrl-C and errors end any of them
"""
