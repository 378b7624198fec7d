"""Signs that could not be read for want of a right. Several signs tell of the same, and where others do, no finding is
unknown: so it is said beside them."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.model.opt_ins import how_to
from kubectl_eksdoc.core.plan.interruption.facts import InterruptionFacts


def missing(facts: InterruptionFacts) -> tuple[str, ...]:
    """The rights, sorted: ``get pods/proxy``, ``list events``."""
    install = facts.install
    of_install = (install.config_map, install.irsa) if isinstance(install, KarpenterInstall) else (install,)
    signs = (facts.events, *facts.metrics.values(), *facts.logs.values(), *of_install)
    return tuple(sorted({each.missing for each in signs if isinstance(each, Unknown) and each.missing}))


def noted(cluster: Cluster, facts: InterruptionFacts) -> Cluster:
    """With a note of each."""
    told = "what it tells of interruptions is not known"
    notes = (". ".join(filter(None, (f"missing right {each}: {told}", how_to(each)))) for each in missing(facts))
    return replace(cluster, notes=tuple(dict.fromkeys((*cluster.notes, *notes))))
