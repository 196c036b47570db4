"""Modules that all other folders of the package use, and that use none of them.

arrays.py          the record types of nodes and infosets, and growing arrays
refusals.py        checks of arguments, shared by public functions
memory.py          sizes in bytes, free memory, cores
budget.py          the memory budget of a tree and its solvers
forecasts.py       estimates of a tree's size before its expansion
display.py         reprs, text tables, tables in notebooks
checkout.py        the path of the folder `games` in a clone of the repository
cache_folder.py    the user's private cache folder
folder_lock.py     a lock, so that only one process at a time uses a folder
atomic_files.py    files that are written completely or not at all
csv_files.py       CSV files
checkpoint.py      the file format of solvers, policies and bots
functions.py       names and hashes of the user's functions in files
infoset_arrays.py  arrays of strings and infosets in files
"""
