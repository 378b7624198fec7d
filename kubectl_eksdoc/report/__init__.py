"""Rendering of facts and decisions as text: each format is a function that returns `str`.

Belongs here: rows, layouts, schemas.
Never here: printing, prompting on a terminal, deciding.
"""
