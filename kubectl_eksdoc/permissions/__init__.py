"""``kubectl eksdoc permissions``: RBAC objects and IAM policies that an administrator grants for a command.

Belongs here: the rights of several commands merged, the objects and documents that grant them. Never here: the rights
of a single command (`cli.rights`, beside its parser).
"""
