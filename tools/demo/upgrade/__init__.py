"""Additions to the demo for the upgrade check.

Belongs here: objects and answers of the API server that no other command reads.
Never here: a rule of a check, and AWS's answers (those are in demo.aws).
"""
