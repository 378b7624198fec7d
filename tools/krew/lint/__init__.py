"""Checks of a plugin's manifest and archives by the rules of krew, and of its validator."""
