"""Archives and manifests for krew: archives with a launcher and all dependencies, built from wheels."""
