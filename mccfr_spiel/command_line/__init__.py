"""The program `mccfr-spiel`.

main.py         the subcommands, and the parsing of their flags
running.py      solve and experiment, which run_experiments.py offers, too
commands.py     compare, info, play and explore
terminal.py     their flags, what they print, and how Ctrl-C and errors end them
"""
