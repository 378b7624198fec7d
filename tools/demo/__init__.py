"""The built-in cluster: a shop on EKS with planted problems and incidents, as API objects.

Belongs here: synthetic objects that show and test the tool, with the same bytes each time.
Never here: a clock, a network, or anything that the answer of a real cluster depends on.
"""
