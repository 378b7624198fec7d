"""Report of an upgrade check, in every format.

Belongs here: which checks, steps and findings are shown, in which order and in which words.
Never here: how anything is judged (that is `check`).
"""
