"""The command line: parser, global flags, the table of commands, completion, rights, and the one error boundary.

Belongs here: the inputs and results of every command; the commands themselves are in `command` of their features.
Never here: a rule, a layout, an SDK.
"""
