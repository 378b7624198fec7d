"""What stands in the tables of the terminal user interface: columns, and rows that are made when they are seen.

Belongs here: one file per table, from facts and a plan; no Textual.
Never here: how a line is drawn (`tui`), a rule.
"""
