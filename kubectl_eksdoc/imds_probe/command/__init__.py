"""``kubectl eksdoc imds-probe``: who loses the instance metadata service.

Belongs here: its flags, which face answers, and the exit code.
Never here: rules, words of the answer, talking to AWS or the cluster.
"""
