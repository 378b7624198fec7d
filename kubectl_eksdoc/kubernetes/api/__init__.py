"""Operations of the API server on documents of any kind: patches, field ownership, preconditions.

Belongs here: pure functions from documents to documents, each with the source of its rule. Never here: HTTP, storage,
and the work of controllers.
"""
