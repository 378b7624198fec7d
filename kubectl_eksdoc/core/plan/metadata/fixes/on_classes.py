"""What Karpenter launches nodes with: a change of it replaces every node of the class.

Sources: Karpenter, concepts/nodeclasses (spec.metadataOptions) and concepts/disruption (drift; a NodePool without
budgets has one of 10 %); karpenter v1.14.1, pkg/apis/v1/ec2nodeclass.go.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.commands import patch
from kubectl_eksdoc.core.model.findings import When
from kubectl_eksdoc.core.model.metadata_acts import OnClass
from kubectl_eksdoc.core.plan.metadata.fixes.behind import Behind
from kubectl_eksdoc.core.plan.metadata.fixes.complaints import On, complaints
from kubectl_eksdoc.core.plan.metadata.fixes.fix import NODE_CLASS, Blast, Fix

KIND = "ec2nodeclass"


def on_class(of: Behind) -> Fix | None:
    """None where their class is not known, or they have several."""
    said, name = of.class_said, of.node_class
    if said is None or not name:
        return None
    nodes = of.of_class
    switch = said.endpoint is False
    act = OnClass(name, said.hop_limit, max(of.hops, said.hop_limit or 0), tuple(node.name for node in nodes), switch)
    pools = sorted({node.group for node in nodes})
    back = "null" if said.hop_limit is None else str(said.hop_limit)
    return Fix(
        NODE_CLASS,
        When.TOMORROW,
        f"Give EC2NodeClass {name} a hop limit of {of.hops}",
        (patch(KIND, name, "", _spec(str(act.hop_limit), "enabled" if switch else "")),),
        (patch(KIND, name, "", _spec(back, "disabled" if switch else "")),),
        Blast(
            len(nodes),
            of.pods_on(nodes),
            how=f"every node of the class drifts, and Karpenter begins to replace them at once, in "
            f"{'NodePool' if len(pools) == 1 else 'NodePools'} {', '.join(pools) or '(none)'} by their disruption "
            "budgets: 10 % of a NodePool's nodes at a time unless they say otherwise",
        ),
        "it holds for every node to come",
        (
            'a budget of nodes: "0" for the reason Drifted in the NodePool holds it back until the night you want '
            "(Karpenter v1), and the way back drifts every node again",
            "what made the class (Helm, Argo CD, Terraform) puts it back: set spec.metadataOptions there as well",
            *complaints(On.INSTANCES, On.LAUNCHES),
        ),
        act,
    )


def _spec(hop_limit: str, endpoint: str) -> str:
    switch = f',"httpEndpoint":"{endpoint}"' if endpoint else ""
    return f'{{"spec":{{"metadataOptions":{{"httpPutResponseHopLimit":{hop_limit}{switch}}}}}}}'
