"""Generators of documents and data, and test tools; not part of the package."""
