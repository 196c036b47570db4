"""A page in the browser that shows what was learned.

    opening.py      `explore`: what it is given, and the running page
    candidates.py   the policies, from solvers, files and folders
    subjects.py     what is looked at: a game, its policies, its tree
    numbers.py      values, regrets and best responses of a policy, over a whole tree
    places.py       histories and infosets in a tree, without a pass over it
    views.py        what the page shows of a state and of an infoset
    finding.py      search by text, and lists of infosets
    grids.py        policies by private cards
    changing.py     fixing a policy at some infosets, and solving on from there
    hands.py        a game against a policy
    live_rows.py    the rows of a run that may still be going on
    visits.py       what one open page has changed and plays
    answers.py      what the page asks, by name
    server.py       who may ask, and the server
    exporting.py    the same page as one file
    static/         the page itself

Nothing here is computed before it is asked for, so that a tree of a hundred million
nodes opens at once. What needs a pass over the whole tree is computed in a thread of
its own, and the page asks again.
"""
