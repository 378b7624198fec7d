"""``kubectl eksdoc`` without a command: the screens, where there is a terminal.

Belongs here: what the screens are given of the process, of a live cluster and of runs.
Never here: what a screen shows.
"""
