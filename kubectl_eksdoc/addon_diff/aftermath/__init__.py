"""An add-on's update that has happened: what it took, what gives it back now, and what keeps it later.

Belongs here: which pod template was in force before an update and after it, who wanted each field that changed, the
patch that restores what was lost.
Never here: what an update will do (that is `addon_diff.prediction`), reading revisions, writing to an object.
"""
