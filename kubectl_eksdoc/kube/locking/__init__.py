"""One drain at a time: a Lease, by whose clock it ends, and the thread that renews it.

Belongs here: taking, keeping and giving back the lock.
Never here: what is done while it is held.
"""
