"""A drain that is under way, or was: its events, where it stands, what came of it.

Belongs here: a line, a document or a page for each of these.
Never here: a rule of the run; what is said of a plan alone (`render.drain`).
"""
