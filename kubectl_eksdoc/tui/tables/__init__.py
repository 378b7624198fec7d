"""Tables of the terminal user interface: columns, and rows that are created when they become visible.

Belongs here: one file per table, from facts and a plan; no Textual.
Never here: drawing of lines (`tui`), rules.
"""
