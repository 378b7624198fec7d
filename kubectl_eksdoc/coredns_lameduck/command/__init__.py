"""``kubectl eksdoc coredns-lameduck``: whether DNS survives its nodes.

Belongs here: its flags, which face answers, and the exit code.
Never here: rules, words of the answer, talking to AWS or the cluster.
"""
