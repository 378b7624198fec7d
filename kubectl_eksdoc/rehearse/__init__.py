"""``kubectl eksdoc rehearse``: a drain on a simulated copy of a cluster, in virtual time.

Belongs here: the rehearsal step by step, its flags and its page.
Never here: the behaviour of a cluster (see `simulator`), and the decisions of a drain (see `drain`).
"""
