"""The live cluster. The only importer of `kubernetes`, which gives configuration, authentication and the connection
pool; requests, paging, retries and decoding are ours.

From the command line to facts: `kubeconfig` chooses server and user, `config` makes a connection pool with credentials
of them, `transport` sends GET requests and retries them, `reader` reads lists. `transport` and `writes`, which changes
objects, both use `exchanges`; `live_backend` is the cluster during a drain.

Belongs here: kubeconfig, transport, reads, writes and watches; a run's journal and lock in the cluster.
Never here: a decision about what was read.
"""
