"""Textual widgets: a table by lines, and what stands around it.

Belongs here: drawing, scrolling, the cursor.
Never here: what stands in a cell (`tui.sheets`), what a key does to the plan (`tui.model`).
"""
