"""The journals of runs in the cluster: ConfigMaps that one writer at a time appends to.

Belongs here: how entries are kept, listed and taken over in a namespace.
Never here: what they mean (`drain.run.journal`), and their text form (`objects.journal_lines`).
"""
