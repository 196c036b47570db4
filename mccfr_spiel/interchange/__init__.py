"""Files of other programs: Gambit's extensive (.efg) and strategic games (.nfg).

Readers make a `GameForm`, from which `gambit_game` makes an OpenSpiel game. The writer
makes the text of an .efg file from the arrays of a tree.
"""
