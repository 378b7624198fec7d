"""The checks, one module for each theme; `registry` knows them all.

Belongs here: functions from facts to findings, and beside them what each of them needs (`CHECKS`).
Never here: reading, and findings of other commands (those are in `summed`).
"""
