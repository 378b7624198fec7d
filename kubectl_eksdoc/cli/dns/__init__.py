"""``kubectl eksdoc coredns-lameduck``.

Belongs here: its flags and options, in which order things are shown, typed back and done.
Never here: the shutdown budget, Corefiles, numbers and their meaning.
"""
