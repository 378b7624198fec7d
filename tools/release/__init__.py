"""``make release``: what is published of one version, the same bytes whenever and wherever it is built."""
