"""Command ``kubectl eksdoc imds-probe``: pods without access to the instance metadata service, and its fixes.

Belongs here: its flags, the choice of the answer, and the exit code. Never here: rules, wording of the answer, requests
to AWS or the cluster.
"""
