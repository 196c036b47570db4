"""A page in the browser that shows what was learned.

    opening.py      `explore`: the running page; `export`: the same page as one file
    subjects.py     what is looked at: a game, its policies, their values, a run's rows
    views.py        what the page shows of a state and of an infoset; search, lists;
                    policies by private cards
    answers.py      what the page asks, by name; what one open page has fixed and solved
                    on, and plays
    server.py       who may ask, and the server
    static/         the page itself
    drawing.py      trees of small games as pictures, without the page

Nothing here is computed before it is asked for, so that a tree of a hundred million
nodes opens at once. What needs a pass over the whole tree is computed in a thread of
its own, and the page asks again.
"""
