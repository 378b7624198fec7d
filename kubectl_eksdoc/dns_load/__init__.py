"""DNS load generator: sends queries at a steady rate, on a workstation or in a pod.

It is packed into one file and copied to where it runs: it does not depend on the package around it, and no package
imports it.

Belongs here: queries, their schedule, sockets, the results of each second, and their output.
Never here: the cluster, interpretation of the results, any dependency but the standard library and dnspython.
"""
