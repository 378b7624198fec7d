"""This machine: files, processes, signals, caches.

Belongs here: reading dumps from files, folders, archives and standard input; reading saved plans; journals of runs on
disk; cached views of clusters; the user's hook commands and key bindings.
Never here: access to the cluster, rules, layouts.
"""
