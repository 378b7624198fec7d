"""This machine: files, the clock, the terminal.

Belongs here: reading dumps, knowing whether a stream is a terminal, measuring time.
Never here: the cluster's network, a rule, a layout.
"""
