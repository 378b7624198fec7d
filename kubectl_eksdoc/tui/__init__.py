"""The terminal user interface: a drain is planned by hand, looked at from all sides, and watched.

Belongs here: screens, keys, what is chosen and how it is undone; the only package that imports Textual.
Never here: a rule of Kubernetes, of a plan or of a run. What is chosen (`model`, `edits`, `knobs`) and what stands in
the tables (`tui.tables`) do without Textual, and are tested without it.
"""
