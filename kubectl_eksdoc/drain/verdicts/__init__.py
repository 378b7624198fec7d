"""What is said of each pod and each budget, and what to do about it.

Belongs here: rules that are asked one by one, every answer kept; the worst decides.
Never here: what goes when, where it lands, how long it takes.
"""
