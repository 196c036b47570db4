"""How objects look: a line of text, a table of text, a table in a notebook."""
