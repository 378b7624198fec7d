"""The patches an API server takes: JSON merge patches, JSON patches, and strategic merge patches.

Belongs here: a document and a patch that was decoded already, to the document after it or a refusal.
Never here: which object is patched, applying (who owns which field), and all that follows a patch on a server:
defaults, admission, validation, resource versions.

Of a patch that is refused the status is the server's, not the words.
"""
