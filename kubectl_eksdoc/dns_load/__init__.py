"""The program that asks DNS at a steady rate, wherever Python and dnspython are: on a desk, or in a pod of its own.

It is packed into one file and sent to where it runs: it knows nothing of the package around it, and nobody imports it.

Belongs here: questions, their schedule, sockets, what came of each second, and how that is printed.
Never here: the cluster, what the numbers mean, anything but the standard library and dnspython.
"""
