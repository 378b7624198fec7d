"""Where evicted pods come to run again, reserved node by node.

Belongs here: reserving places, and what it means for a plan where there is none.
Never here: why a node refuses a pod (that is the scheduler's, in `kubernetes.scheduling`).
"""
