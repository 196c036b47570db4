"""The ground floor: what every other room stands on, and what knows none of them.

arrays.py          how nodes, infosets and sequences are numbered, and their records
refusals.py        checks of arguments that public functions share
limits.py          the budget of bytes, and forecasts of what a task needs
display.py         how objects look: a line, a table of text, a table in a notebook
folders.py         atomic writes, locks, rows, the names of the files of a run
checkpoint.py      the format of saved objects
"""
