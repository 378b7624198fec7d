"""Terminal user interface: plan a drain interactively, inspect the plan, and watch the run.

Belongs here: screens, keys, selection and undo; the only package that imports Textual.
Never here: rules of Kubernetes, of plans or of runs. The selection (`model`, `edits`, `knobs`) and the contents of the
tables (`tui.tables`) do not depend on Textual, and are tested without it.
"""
