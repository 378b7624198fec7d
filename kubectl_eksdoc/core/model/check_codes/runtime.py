"""Codes about container runtimes: which nodes change theirs, and who reaches its socket."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

SOCKET = Code(
    "runtime-socket",
    "Pods that reach the socket of a container runtime on their node",
    "By a hostPath of the socket or of a folder above it, in pods or in the templates they are made of. EKS nodes of "
    "1.24 and newer have no Docker: by the hostPath's type a pod does not start there, or finds nothing. containerd's "
    "socket stays.",
    (
        kinds.PODS,
        kinds.DEPLOYMENTS,
        kinds.DAEMON_SETS,
        kinds.STATEFUL_SETS,
        kinds.REPLICA_SETS,
        kinds.REPLICATION_CONTROLLERS,
        kinds.JOBS,
        kinds.CRON_JOBS,
        kinds.NODES,
    ),
)
DOCKER = Code(
    "runtime-docker",
    "Nodes whose container runtime is Docker",
    "From 1.24 on a kubelet has no dockershim: new nodes run containerd, and what relies on Docker must be changed "
    "before.",
    (kinds.NODES,),
)
VERSION = Code(
    "runtime-version",
    "Nodes whose containerd is too old for the target",
    "1.35 is the last version with containerd 1.x, and 1.26 the first that needs 1.6. A new AMI of EKS brings the "
    "right one; who upgrades nodes where they are must upgrade it, too.",
    (kinds.NODES,),
)
