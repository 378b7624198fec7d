"""The demo of ``imds-probe``: the demo's cluster and account with one node group of each kind besides, and who suffers.

Belongs here: machines, pools, applications and logs that the demo has not, as data, and how they come to the demo's.
Never here: anything that another command shows; how objects and answers of AWS look (that is in the demo itself).
"""
