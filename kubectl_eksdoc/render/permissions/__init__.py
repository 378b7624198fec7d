"""What must be allowed for commands: as a table for people, and as objects for kubectl; and who has it.

Belongs here: columns, words, the order of sections, documents.
Never here: which rights a command has, what a role or a policy is made of (that is `permissions`).
"""
