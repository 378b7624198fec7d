"""What AWS and the cluster would say to a fix: nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.metadata_acts import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.core.run.metadata.became import class_patch
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsRefused, ClusterError
from kubectl_eksdoc.flows.metadata_fix.ports import MetadataAws, NodeClasses


def tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> tuple[bool, tuple[str, ...]]:
    """Whether all of it would be taken, and what was said, a line each.

    Raises:
        AwsError, ClusterError: nothing can be asked.
    """
    found = list(_tried(act, token, aws, classes))
    return all(well for well, _ in found), tuple(line for _, line in found)


def _tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> Iterator[tuple[bool, str]]:
    match act:
        case OnInstances(each):
            for one in each:
                try:
                    aws.set_options(one, dry=True)
                    yield True, f"{one}: EC2 would take it"
                except (AwsDenied, AwsMissing, AwsRefused) as error:
                    yield False, f"{one}: {error.message}"
        case OnTemplate():
            try:
                aws.new_version(act, token, dry=True)
                yield True, f"launch template {act.id}: EC2 would make the version"
            except (AwsDenied, AwsMissing, AwsRefused) as error:
                yield False, f"launch template {act.id}: {error.message}"
            yield True, f"node group {act.group}: EKS has no dry run, so whether it takes the update is not known"
        case OnClass():
            yield _class(act, classes)


def _class(act: OnClass, classes: NodeClasses) -> tuple[bool, str]:
    what = f"EC2NodeClass {act.name}"
    now = classes.one(act.name)
    if isinstance(now, (Absent, Unknown)):
        return False, f"{what}: {now.said if isinstance(now, Absent) else now.why}"
    try:
        classes.patch(act.name, class_patch(act, now), dry=True)
    except ClusterError as error:
        return False, f"{what}: {error.message}"
    return True, f"{what}: the API server would take it"
