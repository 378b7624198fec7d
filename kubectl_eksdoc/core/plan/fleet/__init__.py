"""Many clusters judged together: which they are, and what their answers come to.

Belongs here: the choice of members, the order of rows, what many of them share, the one exit code.
Never here: how one cluster is judged (that is each command's own plan), processes, files, any layout.
"""
