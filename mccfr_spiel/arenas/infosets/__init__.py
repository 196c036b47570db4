"""A game and the table of its information sets, which every arena has."""
