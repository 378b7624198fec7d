"""``kubectl eksdoc permissions``: what an administrator grants for a command, as RBAC objects and IAM policies.

Belongs here: rights of several commands put together, the objects and documents that grant them.
Never here: which rights a command has (that is beside its parser, in `cli.rights`).
"""
