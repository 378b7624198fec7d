"""Command line of ``kubectl eksdoc coredns-lameduck``.

Belongs here: its flags, the choice of the answer, and the exit code. Never here: rules, texts of the answer, requests
to AWS or the cluster.
"""
