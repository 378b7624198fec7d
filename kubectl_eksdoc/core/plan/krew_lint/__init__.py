"""Whether a plugin can be installed by krew, pass its validator, and please its reviewers.

Belongs here: which rules a manifest and its archives are held to, and how bad what breaks them is.
Never here: the rules (core.rules.krew), reading files; what other plans decide.
"""
