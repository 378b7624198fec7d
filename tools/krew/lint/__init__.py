"""A plugin's manifest and archives held to the rules of krew, and of its validator."""
