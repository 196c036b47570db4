"""A bot that learns while it plays.

bot.py    the bot, as OpenSpiel calls it
table.py  what it has learned, in arrays that go into a file as they are
"""
