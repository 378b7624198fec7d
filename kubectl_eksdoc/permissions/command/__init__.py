"""Command line of ``kubectl eksdoc permissions``: what an administrator grants, and whether the user has it.

Belongs here: its flags, how commands are named, in which namespaces their rights are needed. Never here: the rights of
a single command (`cli.rights`), roles and policies (`permissions`).
"""
