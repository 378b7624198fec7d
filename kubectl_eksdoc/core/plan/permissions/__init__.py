"""What commands must be allowed, as an administrator grants it: RBAC objects and IAM policies.

Belongs here: rights of several commands put together, the objects and policy documents that grant them and no more.
Never here: which rights a command has (that is beside its parser, in `cli.rights`), requests, JSON, YAML and tables.
"""
