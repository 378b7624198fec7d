"""DNS measured from short-lived pods: look, make them, let something happen, read what they say, clean up.

Belongs here: the order of it, through ports, and reading what an asker prints.
Never here: what the numbers mean (that is `core.plan.dns.measuring`), sockets, layout.
"""
