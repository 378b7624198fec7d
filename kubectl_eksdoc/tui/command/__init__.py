"""``kubectl eksdoc`` without a command: opens the screens on a terminal.

Belongs here: what the screens receive from the process, from a live cluster and from runs.
Never here: the contents of a screen.
"""
