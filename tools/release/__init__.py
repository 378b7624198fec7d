"""``make release``: the published files of one version, the same bytes in every build."""
