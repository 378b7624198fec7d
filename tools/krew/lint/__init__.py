"""A plugin's manifest and archives held to the rules of krew, of its validator and of krew-index's reviewers."""
