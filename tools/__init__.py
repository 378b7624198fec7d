"""Makes the generated parts of the documents; not part of the package."""
