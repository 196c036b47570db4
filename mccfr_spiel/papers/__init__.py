"""The papers' tables and figures, and experiments of many panels like them.

panels.py          experiments of many panels -> a sweep -> a summary
reproduction.py    the experiments of the papers
table_1.py         Table 1 of Lanctot et al. 2009
figures.py         a summary -> figures

Only the command line imports this folder.
"""
