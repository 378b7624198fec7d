"""Facts and decisions as text: each format a function that returns `str`.

Belongs here: rows, layouts, schemas.
Never here: printing, asking a terminal, deciding.
"""
