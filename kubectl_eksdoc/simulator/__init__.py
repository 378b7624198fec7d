"""A whole cluster as a state machine in virtual time: objects of any kind, and what the control plane does with them.

Belongs here: the store, the agenda of what happens when, and controllers, scheduler and kubelets, made of the rules.
Never here: HTTP, a real clock, threads; and what should be done (that is `drain`).
"""
