"""The finding codes of CoreDNS; with `codes` they are the one registry of the tool."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

LAMEDUCK_SHORT = Code(
    "dns-lameduck-short",
    "CoreDNS may stop answering before every node sends elsewhere",
    "kube-proxy on every node has to take the pod out of the service first; whatever is still sent there is lost, and "
    "its client asks again after seconds. How long that takes is an estimate until it is measured (--measure), so a "
    "short lameduck is unknown; none at all is a failure.",
)
LAMEDUCK_LONG = Code(
    "dns-lameduck-long",
    "CoreDNS may be killed before it has ended",
    "preStop, lameduck and the closing of its servers take longer than the grace period of its pods allows: SIGKILL "
    "comes while clients are still being answered.",
)
LAMEDUCK_UNKNOWN = Code(
    "dns-lameduck-unknown",
    "It is not known how long CoreDNS goes on answering",
    "The Corefile could not be read, imports a file, or takes the duration from its environment.",
    (kinds.NODES,),
)
COREFILE_REFUSED = Code(
    "dns-corefile-refused",
    "CoreDNS would not take its Corefile",
    "Pods that run go on with the one they have; the next one that starts crashes.",
)
COREFILE_UNKNOWN = Code(
    "dns-corefile-unknown",
    "Whether CoreDNS would take its Corefile is not known",
    "It imports files, takes something from the environment, or uses a plugin or an option that is not judged.",
)
NO_READY = Code(
    "dns-no-ready",
    "A probe asks what CoreDNS does not answer",
    "It asks /ready or /health, and no server block has the plugin ready or health, or it listens on another port or "
    "address: no pod becomes Ready, or the kubelet restarts the container for ever.",
)
READINESS_ASKS_HEALTH = Code(
    "dns-readiness-asks-health",
    "The readiness probe asks whether CoreDNS lives, not whether it can answer",
    "/health is 200 before the plugins are ready and all through lameduck; /ready is the one for it. Without a probe a "
    "pod is Ready as soon as it runs.",
)
NO_RELOAD = Code(
    "dns-no-reload",
    "CoreDNS does not look whether its Corefile has changed",
    "Without the plugin reload a change of the ConfigMap is taken up when pods are made anew, and not before.",
)
FOREIGN_COREFILE = Code(
    "dns-corefile-not-kept",
    "The Corefile is not in the add-on's configuration",
    "Somebody has changed the ConfigMap that the add-on owns: an update with OVERWRITE puts it back.",
)
FOREIGN_GRACE = Code(
    "dns-grace-not-kept",
    "The grace period of CoreDNS' pods was changed by hand",
    "No schema of the add-on has a key for it: an update with OVERWRITE puts it back to 30 s, and a longer lameduck "
    "does not fit any more.",
)
FAILING = Code(
    "dns-failing",
    "CoreDNS fails now",
    "Pods are not Ready, restart, were ended for want of memory, or print errors.",
    (kinds.PODS,),
)
NOT_SERVING = Code(
    "dns-not-serving",
    "Fewer pods serve than run",
    "Ready pods that are not among the ready endpoints of the service kube-dns are asked by nobody.",
    (kinds.PODS, kinds.ENDPOINT_SLICES),
)
ON_SPOT = Code(
    "dns-on-spot",
    "CoreDNS runs on Spot instances",
    "EC2 takes them back after a notice of two minutes; who does not drain them until then loses the pods without a "
    "SIGTERM, and no lameduck helps.",
    (kinds.NODES, kinds.PODS),
)
TOGETHER = Code(
    "dns-together",
    "All of CoreDNS is on one node or in one zone",
    "Whatever takes that away takes all lookups of the cluster with it.",
    (kinds.NODES, kinds.PODS),
)
TOO_FEW = Code(
    "dns-too-few",
    "CoreDNS has fewer replicas than it should",
    "One is none while it is replaced; EKS's own autoscaler wants one for 16 nodes or 256 cores.",
    (kinds.NODES,),
)
LEAVING = Code(
    "dns-on-leaving-nodes",
    "CoreDNS is on nodes that are to go",
    "They are cordoned, being deleted, or not Ready.",
    (kinds.NODES, kinds.PODS),
)
NO_BUDGET = Code(
    "dns-no-budget",
    "No PodDisruptionBudget keeps CoreDNS' pods from going all at once",
    "A drain of several nodes may evict every replica at the same time.",
    (kinds.BUDGETS, kinds.PODS),
)
NO_SPREAD = Code(
    "dns-not-spread",
    "Nothing asks the scheduler to spread CoreDNS over zones",
    "Where it lands after the next rollout is chance.",
)
TWO_SCALERS = Code(
    "dns-two-scalers",
    "Several autoscalers set the replicas of CoreDNS",
    "The add-on's autoScaling, a HorizontalPodAutoscaler and the proportional autoscaler undo each other's work.",
    (kinds.AUTOSCALERS,),
)
NOTICES = Code(
    "dns-notices-unheard",
    "Nobody hears that a Spot node of CoreDNS is taken back",
    "Karpenter drains it in the two minutes of the notice only if it is told of the notice, by its interruption queue.",
)
KEPT_FLOWS = Code(
    "dns-kept-flows",
    "Clients that keep their UDP socket go on sending to a CoreDNS pod that has ended",
    "kube-proxy knows a flow by its source port. In IPVS mode it keeps it until it was idle for ipvs.udpTimeout; in "
    "iptables and nftables mode it deletes it when the pod is taken out of the service.",
)
WITHOUT = Code(
    "dns-elsewhere",
    "Where the names of this cluster are looked up",
    "EKS Auto Mode answers on each node, Fargate's pods ask CoreDNS on Fargate: what is judged here is not theirs.",
)
UNREAD = Code(
    "dns-unread",
    "What CoreDNS is judged by could not be read",
    "Its Deployment, its ConfigMap, its pods or the add-on; what follows from it is unknown, and not well.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
