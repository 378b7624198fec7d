"""Changing the instances as they run: nothing is replaced, and nothing of it outlives them.

Source: botocore's model of EC2, ModifyInstanceMetadataOptions (what is not named stays; ``pending``, then ``applied``).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.findings import When
from kubectl_eksdoc.core.model.metadata_acts import OnInstances, SetOptions
from kubectl_eksdoc.core.plan.metadata.fixes.behind import Behind
from kubectl_eksdoc.core.plan.metadata.fixes.complaints import On, complaints
from kubectl_eksdoc.core.plan.metadata.fixes.fix import INSTANCE_OPTIONS, Blast, Fix
from kubectl_eksdoc.core.rules.metadata_service import Reach, verdict


def on_instances(of: Behind) -> Fix | None:
    """None where no instance is known that a pod does not reach."""
    each = tuple(_needed(of))
    if not each:
        return None
    count = len(each)
    left = len(of.nodes) - count
    cautions = list(complaints(On.INSTANCES, On.CHANGES))
    if left:
        cautions.insert(
            0, f"of {left} more {'node' if left == 1 else 'nodes'} the instance is not known, or not in force"
        )
    return Fix(
        INSTANCE_OPTIONS,
        When.TONIGHT,
        f"Give {'the running instance' if count == 1 else f'the {count} running instances'} a hop limit of {of.hops}, "
        "as they run: no node is replaced and no pod restarted",
        tuple(_modify(of, one.instance, one.hop_limit, None if one.before.endpoint else True) for one in each),
        tuple(_modify(of, one.instance, one.before.hop_limit, None if one.before.endpoint else False) for one in each),
        Blast(instances=count, how="EC2 applies it within seconds"),
        _lasts(of),
        tuple(cautions),
        OnInstances(each),
    )


def _needed(of: Behind) -> Iterator[SetOptions]:
    for node, instance, options in of.instances:
        if verdict(options, of.hops).reach in (Reach.CUT_OFF, Reach.V1_ONLY):
            yield SetOptions(node.name, instance.id, options, max(of.hops, options.hop_limit))


def _modify(of: Behind, instance: str, hop_limit: int, endpoint: bool | None) -> str:
    switch = () if endpoint is None else ("--http-endpoint", "enabled" if endpoint else "disabled")
    words = ("aws", "ec2", "modify-instance-metadata-options", "--instance-id", instance)
    return shell(*words, "--http-put-response-hop-limit", str(hop_limit), *switch, *of.where.in_region)


def _lasts(of: Behind) -> str:
    """The next instance does not know of it."""
    later, options = of.alike.later, of.alike.next.options
    if later.reach is Reach.REACHABLE:
        return "it is lost with the instance, and the next one has it by itself"
    if isinstance(options, MetadataOptions):
        return f"it is lost with the instance: the next one is as before ({later.why}; {of.alike.next.by})"
    return "it is lost with the instance, and what the next one has is not known"
