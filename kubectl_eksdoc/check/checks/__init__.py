"""The checks, one module for each theme; `check.registry` knows them all.

Belongs here: functions from facts to findings, and beside them what each of them needs (`CHECKS`).
Never here: reading, and a judgement of another command: `release_notes` only sums up their findings.
"""
