"""A page in the browser that shows policies, their values and the progress of a run.

| file | contents |
|---|---|
| opening.py | `explore`: starts the server and returns the open page |
| exporting.py | `export`: writes the page of a small game into one file |
| server.py | HTTP: access control, static files, JSON |
| page_api.py | the requests of a page, by name |
| visits.py | the state of one open page: changes, solve, game |
| restricted_games.py | solving a game with a policy fixed at some infosets |
| played_game.py | a game against a policy |
| subjects.py | what a page shows: a game, policies, a tree |
| shown_policies.py, policy_reader.py | the policies, and where they are read from |
| policy_numbers.py | values, reach probabilities and best responses of a policy |
| background.py | calls in threads |
| positions.py | finding states, histories and infosets |
| views.py, lists.py, grids.py | states, lists of infosets and tables of hands as JSON |
| static_files.py, static/ | the page's HTML, CSS and JavaScript |
| drawing/ | `draw_tree`: small game trees as pictures, without the page |

Nothing is computed before a page requests it, so a tree of a hundred million nodes
opens at once. A pass over the whole tree runs in a thread, and the page repeats the
request until the result is available.
"""
