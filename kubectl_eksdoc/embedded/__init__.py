"""A cluster without a cluster: the simulated one of `simulator`, made of a dump or of the demo's objects.

Belongs here: what turns objects into a simulated cluster and puts it behind the ports and the API of a live one.
Never here: what Kubernetes does, and anything a real cluster's answer depends on.
"""
