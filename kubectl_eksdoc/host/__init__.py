"""This machine: files, the clock, the terminal.

Belongs here: reading dumps from files, folders, archives and standard input; reading a saved plan;
a run's journal on disk; pictures of clusters for the next time; the user's hook commands and keys.
Never here: the cluster's network, a rule, a layout.
"""
