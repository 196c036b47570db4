"""The ground floor: what every other room stands on, and what knows none of them.

arrays.py          how nodes, infosets and sequences are numbered, and their records
refusals.py        checks of arguments that public functions share
memory.py          sizes in bytes, free memory, cores
budget.py          the memory budget of a tree and its solvers
forecasts.py       estimates of a tree's size before it is expanded
display.py         how objects look: a line, a table of text, a table in a notebook
checkout.py        the folder of games in a clone
cache_folder.py    the user's private cache folder
folder_lock.py     a lock that lets one process at a time into a folder
atomic_files.py    files that are written whole or not at all
csv_files.py       tables of rows in CSV files
checkpoint.py      the format of saved objects
"""
