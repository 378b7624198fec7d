"""Comparison of a command's result with an earlier result of the same command: new, fixed and unchanged findings.

Belongs here: recognizing the cluster, pairing findings, the change of each finding, what either result could not have.
Never here: reading the saved file, computing either result, the scope of a single command, texts for a screen.
"""
