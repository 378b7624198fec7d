"""What the API server does with documents, whatever their kind: patches, field ownership, preconditions.

Belongs here: pure functions from documents to documents, each with the source of its rule.
Never here: HTTP, storage, and what controllers do.
"""
