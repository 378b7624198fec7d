"""Output of a drain plan, a run and its history in every format: table, Markdown, HTML, JSON, YAML or names.

Belongs here: which rows and texts are shown, and in which order. Never here: decisions about pods and nodes (`drain`),
drawing of tables (`report`).
"""
