"""The demo of ``interruption``: the demo's Karpenter as the incident left it, told a queue that was never made.

Belongs here: what its Deployment and pods say of the queue besides, and what it has logged.
Never here: anything that another command shows; the answers of AWS (those are in the demo's account).
"""
