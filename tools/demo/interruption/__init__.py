"""The demo of ``interruption``: the demo's Karpenter after the incident, configured with a queue that was never
created.

Belongs here: the queue settings of its Deployment and pods, and its log.
Never here: objects that another command shows; the answers of AWS (those are in the demo's account).
"""
