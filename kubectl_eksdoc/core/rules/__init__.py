"""What Kubernetes and EKS do, as pure functions over facts.

Belongs here: behaviour that a server, a controller or kubectl has, with the upstream source named.
Never here: what we think should be done about it (that is `plan`).
"""
