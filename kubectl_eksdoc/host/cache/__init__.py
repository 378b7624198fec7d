"""What was seen of clusters, kept for the next time: it may be lost at any time, and what is damaged was never there.

Belongs here: pictures of clusters for the screens, names for completion, and the files that hold them.
Never here: asking a cluster.
"""
