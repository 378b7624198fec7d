"""Configuration schemas of add-ons: which paths there are, what may stand there, and how two schemas differ.

Belongs here: JSON Schema of draft 6 as EKS publishes it, read as paths; added, removed, renamed, tightened, loosened.
Never here: whether values are allowed (a validator does that, in `kubectl_eksdoc.aws`), what a path sets in a cluster.
"""
