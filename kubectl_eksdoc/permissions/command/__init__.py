"""``kubectl eksdoc permissions``: what an administrator grants for a command, and whether one has it.

Belongs here: its flags, how commands are named, where a right of theirs is needed.
Never here: which rights a command has (that is in cli.rights), roles and policies (that is in permissions).
"""
