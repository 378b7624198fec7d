"""Many clusters judged together: which they are, and what their answers come to.

Belongs here: the choice of members, what many of them share, the one exit code, the page and the flags of it.
Never here: how one cluster is judged (that is each command's own plan).
"""
