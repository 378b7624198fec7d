"""A simulated cluster in virtual time: API objects of any kind, controllers, the scheduler and kubelets.

Belongs here: the store, virtual time, and controllers, scheduler and kubelets, built from the rules of `kubernetes`.
Never here: HTTP, a real clock, threads; and decisions about what to do (see `drain`).
"""
