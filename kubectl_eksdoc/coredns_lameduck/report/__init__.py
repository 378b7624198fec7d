"""A change of CoreDNS that is to be made, or was, in every format.

Belongs here: the Corefile and the values before and after, what is sent, the way back, and which pods have taken it up.
Never here: what the change should be (that is `coredns_lameduck`), whether it may be made.
"""
