"""A change of CoreDNS that was made: whether each of its pods has taken it up.

Belongs here: what a pod's metrics and log tell of the Corefile that it runs; what of a call is not accepted.
Never here: asking pods, waiting (that is `flows`), what the change should be (that is `core.plan.dns.change`).
"""
