"""What krew downloads: archives of a launcher and all that it needs, built from wheels, and their manifests."""
