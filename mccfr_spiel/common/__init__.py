"""Modules without knowledge of games, which all other rooms build on.

arrays.py          the records of nodes and infosets, and the numbering of rows
refusals.py        checks of arguments that public functions share
memory.py          sizes in bytes, free memory, cores
budget.py          the memory budget of a tree and its solvers
forecasts.py       estimates of a tree's size before its expansion
display.py         reprs, text tables, tables in notebooks
checkout.py        the folder of games in a clone
cache_folder.py    the user's private cache folder
folder_lock.py     a lock that lets one process at a time into a folder
atomic_files.py    files that are written whole or not at all
csv_files.py       tables of rows in CSV files
checkpoint.py      the file format of solvers, policies and bots
"""
