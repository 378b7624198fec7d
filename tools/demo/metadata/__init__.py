"""The demo of ``imds-probe``: the demo's cluster and account with one more node group of each kind, and affected pods.

Belongs here: machines, pools, applications and logs that the demo does not have, as data, and how they are added to it.
Never here: objects that another command shows; the format of objects and AWS answers (that is in the demo itself).
"""
