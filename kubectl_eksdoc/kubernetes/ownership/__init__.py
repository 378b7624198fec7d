"""Who owns which field of an object (metadata.managedFields), and server-side apply, as kube-apiserver 1.36 has them.

Belongs here: sets of fields, comparing, merging and pruning documents by a schema, what writes do to the entries.
Never here: defaulting, validation, resource versions and generations, and what a resource's strategy sets by itself.
"""
