"""The built-in cluster: a shop on EKS with the traps and the incidents that are planted in it, as API objects.

Belongs here: objects made up to show and test the tool, the same bytes each time.
Never here: a clock, a network, anything a real cluster's answer depends on.
"""
