"""What krew, its validator and its reviewers take of a plugin: the manifest, and what its archive unpacks to.

Belongs here: krew's own steps (reading, validating, unpacking, moving, linking) as functions of facts, each with its
source in github.com/kubernetes-sigs/krew.
Never here: reading files and archives, findings and how they are shown.
"""
