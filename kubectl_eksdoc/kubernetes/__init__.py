"""What Kubernetes does, as pure functions over facts.

Belongs here: behaviour that a server, a controller or kubectl has, with the upstream source named. Never here: what we
think should be done, reading, acting.
"""
