"""The drain plan, a run and its history in every format: the same rows as a table, Markdown, JSON, YAML or names.

Belongs here: what is shown, in which order and in which words.
Never here: what becomes of a pod or a node (that is `drain`), how a table is drawn (that is `report`).
"""
