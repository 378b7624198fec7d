"""A look into the pods that are worth it: with what they were started, and what they printed last."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.inside import logs_of, seen_in, started_of
from kubectl_eksdoc.core.plan.metadata.plan import pods_to_read
from kubectl_eksdoc.flows.ports import InsidePods

MOST = 100
"""Of each sort; one pod stands for those that its owner made like it. The logs of the others are unknown."""


def looked_inside(facts: MetadataFacts, hops: int, within: InsidePods) -> MetadataFacts:
    """`facts` with what is found in the pods.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    failing, starting = (pods[:MOST] for pods in pods_to_read(facts, hops))
    found = within.containers(list(dict.fromkeys(pod.key for pod in (*failing, *starting))))
    now, unread = facts.cluster.observed_at, Unknown("it was not asked for")
    asked = {}
    for pod in failing:
        containers = found.get(pod.key, unread)
        asked[pod.key] = () if isinstance(containers, (Absent, Unknown)) else logs_of(pod, containers, now)
    logs = within.logs([log for several in asked.values() for log in several])
    return replace(
        facts,
        seen={key: seen_in(found.get(key, unread), wanted, logs) for key, wanted in asked.items()},
        started={pod.key: started_of(found.get(pod.key, unread)) for pod in starting},
    )
