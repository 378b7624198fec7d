"""A run that was written down, shown again on the screens of runs, with its time in the user's hands.

Belongs here: what is different where nothing is under way: keys that move in time, and what is not known.
Never here: files, and how a recording is made of what is in them (`core.run.recording`).
"""
