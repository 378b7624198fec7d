"""What an add-on's update would change, or has taken, in every format.

Belongs here: which fields, findings and commands of an update are shown, in which order and in which words.
Never here: what an update does (that is `addon_diff`), what is asked of AWS or the cluster.
"""
