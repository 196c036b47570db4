"""Files of other programs: Gambit's extensive (.efg) and strategic games (.nfg).

| file | contents |
|---|---|
| tokens.py | tokens of a file, and errors that name line and token |
| form.py | `GameForm`, a game in extensive form |
| efg_reader.py, nfg_reader.py | read a file into a `GameForm` |
| labels.py | distinct names of players, actions and infosets |
| gambit_game.py | the OpenSpiel game of a file |
| efg_writer.py | writes any game as an .efg file |
| probabilities.py | chance probabilities as fractions that sum to exactly 1 |
"""
