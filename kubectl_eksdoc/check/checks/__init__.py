"""Upgrade checks, one module for each subject; `check.registry` lists them all.

Belongs here: functions from facts to findings, and the checks that are made of them (`CHECKS`).
Never here: reading, or a judgement of another command: `release_notes` only takes over their findings.
"""
