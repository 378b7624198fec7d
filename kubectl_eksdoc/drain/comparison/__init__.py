"""A drain plan beside one that was saved earlier: what changed, and what was asked for differently.

Belongs here: reducing a plan to its outline, telling clusters apart, the differences as data.
Never here: reading the saved file, making either plan, words and signs for a screen.
"""
