"""Who reaches the metadata service against an earlier answer: which nodes and pods either was about."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model import metadata_codes as codes
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.earlier import Earlier
from kubectl_eksdoc.core.plan.metadata.plan import MetadataPlan
from kubectl_eksdoc.core.plan.since.changes import Since, outline_of
from kubectl_eksdoc.core.plan.since.comparing import since
from kubectl_eksdoc.core.plan.since.made import Of, made_earlier
from kubectl_eksdoc.core.plan.since.needs import needs_of, read_of
from kubectl_eksdoc.core.plan.since.side import Scope, Side

_OPEN = frozenset({codes.NODES_UNKNOWN.name, codes.ROLES_UNKNOWN.name, codes.PODS_UNREAD.name})
KIN = {
    code.name: _OPEN
    for code in (
        codes.PODS_BROKEN,
        codes.PODS_WILL_BREAK,
        codes.NEXT_DIFFERS,
        codes.PODS_POSSIBLE,
        codes.ROLES_UNKNOWN,
    )
}
"""Of nodes whose service is not known nobody knows who suffers, or asks which pods have a role. That a pod may possibly
need it hides nothing."""

_NEEDS = needs_of(codes.ALL)
_KNOWN = frozenset(_NEEDS)
"""What an older version may have found besides, nobody looks for here."""

_NODES, _GROUPS = "node", "nodegroup"


def against(earlier: Earlier, cluster: Cluster, plan: MetadataPlan, options: Mapping[str, object]) -> Since:
    """
    Raises:
        BaselineError: the earlier answer is of another cluster.
    """
    then = Side(earlier.findings, read=earlier.read, needs=_NEEDS, scope=_scope(earlier.options), kin=KIN)
    found = tuple(map(outline_of, plan.findings))
    now = Side(found, codes=_KNOWN, read=read_of(cluster), needs=_NEEDS, scope=_scope(options), kin=KIN)
    return since(earlier, cluster, then, now, options)


def as_earlier(of: Of, cluster: Cluster, plan: MetadataPlan) -> Earlier:
    """`plan` of what was read earlier, as its own document is read."""
    return made_earlier(of, cluster, plan.findings)


def _scope(options: Mapping[str, object]) -> Scope | None:
    """What is chosen twice, by name and by group, is less than either, and as much only as itself."""
    pod, nodes, groups = options.get("pod"), _many(options.get(_NODES)), _many(options.get(_GROUPS))
    if pod:
        return frozenset({("Pod", f"{options.get('namespace') or ''}/{pod}")})
    if nodes and groups:
        return frozenset({("both", f"{sorted(nodes)} of {sorted(groups)}")})
    if nodes:
        return frozenset(("Node", name) for name in nodes)
    return frozenset((_GROUPS, name) for name in groups) or None


def _many(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []
