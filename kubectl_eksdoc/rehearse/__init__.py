"""``kubectl eksdoc rehearse``: a drain on a simulated copy of a cluster, in virtual time.

Belongs here: the rehearsal step by step, its flags and its page.
Never here: how a cluster behaves (that is `simulator`), and how a drain is decided (that is `drain`).
"""
