"""The faults that users switch on by name: what each is called, does and takes, in one registry.

Here belongs what binds a name to a fault of requests (`embedded.serving.faults`) or to a trouble of the cluster
(`core.sim.cluster.troubles`). How either comes about never does. Help, documents and errors draw from the registry.
"""
