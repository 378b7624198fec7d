"""A plan that was just made of what was read earlier, reduced to what a saved one is read as.

Nothing of it is left out, so that it is compared as a saved plan is. It promises nothing: nobody has read it.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.baseline import Baseline
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.comparison.comparing import named
from kubectl_eksdoc.core.plan.drain.comparison.outline import outline
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.plan.since.side import Of, read_of, uids_of


def as_baseline(of: Of, cluster: Cluster, plan: DrainPlan) -> Baseline:
    return Baseline(
        of.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        of.tool_version,
        {**of.options, **named(plan)},
        outline(plan),
        read_of(cluster),
        uids_of(cluster),
    )
