"""``--fleet``: the same question to many clusters, for the commands that judge one.

Belongs here: its flags, what does not go together with them, what each cluster is asked.
Never here: how one cluster is judged (each command's own), how answers are summed (that is in core.plan.fleet).
"""
