"""What of a cluster may be written to a file that people hand on: an allow-list, and a digest for the rest.

Belongs here: which keys are kept because something is judged by them, digests, and what looks like a secret whatever
its key.
Never here: the shapes of objects (`objects.keeping`), of AWS's answers (`aws.keeping`), and files.
"""
