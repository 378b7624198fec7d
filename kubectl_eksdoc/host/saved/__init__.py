"""Answers of this tool that were saved, read back to be compared with new ones.

Belongs here: plans and answers in the tool's own form, of this version and of earlier ones.
Never here: comparing them.
"""
