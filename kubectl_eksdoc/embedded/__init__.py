"""Simulated cluster from a dump or from the demo's objects, behind the ports and the API of a live cluster.

Belongs here: loading objects into a simulated cluster, and serving it. Never here: the behaviour of Kubernetes, or
anything that a real cluster's answer depends on.
"""
