"""The live cluster. The only importer of `kubernetes`, which gives configuration, authentication and
the connection pool; requests, paging, retries and decoding are ours.

From the command line to facts: `kubeconfig` chooses server and user, `access` makes them a pool with
credentials, `transport` asks and retries, `reader` gathers.

Belongs here: kubeconfig, transport, reading and (later) acting on a cluster; a run's journal and lock in it.
Never here: a decision about what was read.
"""
