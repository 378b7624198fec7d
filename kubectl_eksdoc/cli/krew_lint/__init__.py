"""``kubectl eksdoc krew-lint``: a manifest of a plugin, and its archives, held to krew's rules without krew.

Belongs here: its flags, what was asked of it, and how its answer is printed.
Never here: any rule (core.rules.krew), any layout (render.krew_lint).
"""
