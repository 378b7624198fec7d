"""Journals on this machine: of runs, and of updates and fixes.

Belongs here: lines that are on the disk before what they say is done, and reading them back.
Never here: what a journal means.
"""
