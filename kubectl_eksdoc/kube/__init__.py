"""The live cluster. The only importer of `kubernetes`, which gives configuration, authentication and
the connection pool; requests, paging, retries and decoding are ours.

From the command line to facts: `kubeconfig` chooses server and user, `config` makes them a pool with
credentials, `transport` asks and retries, `reader` gathers. Both `transport` and `writes`, which
changes things, rest on `exchanges`; `live_field` is the cluster while it is drained.

Belongs here: kubeconfig, transport, reading, acting and watching; a run's journal and lock in the cluster.
Never here: a decision about what was read.
"""
