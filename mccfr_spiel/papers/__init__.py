"""The papers' tables and figures, and experiments of many panels like them.

figures.py         experiments of many panels -> a sweep -> a summary -> figures
reproduction.py    the experiments of the papers, and Table 1 of Lanctot et al. 2009

Only the command line imports this folder.
"""
