"""Command lines: parse into a frozen request, call a flow, print what a renderer returns.

Belongs here: flags, help, exit codes, one module per command.
Never here: a rule, a layout, an SDK.
"""
