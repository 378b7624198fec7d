"""Plugins for krew, as files: their manifests and the archives that these name.

Belongs here: what is in them, read within bounds and without writing anything to disk.
Never here: what krew makes of it.
"""
