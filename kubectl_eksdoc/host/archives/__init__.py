"""What was read of a cluster, kept in files: dumps that kubectl made, and snapshots of this tool.

Belongs here: opening archives and folders, reading the objects and answers in them, and writing a snapshot.
Never here: which answers are kept, and in which words (core, objects, aws).
"""
