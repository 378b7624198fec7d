"""What fixes of the metadata service need of AWS and of the cluster; edges implement these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import Update
from kubectl_eksdoc.core.model.aws.machines import Instance, NodeGroup
from kubectl_eksdoc.core.model.metadata_acts import OnTemplate, SetOptions


class MetadataAws(Protocol):
    """AWS, as far as changes of the metadata service's options go. Every method may raise AwsError: nothing can be
    asked just now."""

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """By id."""
        ...

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """A managed one."""
        ...

    def set_options(self, act: SetOptions, dry: bool = False) -> None:
        """EC2 has taken it, and applies it soon. `dry`: it says whether it would.

        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error says why.
            AwsError: nobody knows whether it was.
        """
        ...

    def new_version(self, act: OnTemplate, token: str, dry: bool = False) -> int:
        """Its number, 0 of a dry one; with the same `token` it is the same one. Raises: as `set_options`."""
        ...

    def version_of(self, act: OnTemplate, token: str) -> int | Unknown:
        """The number of the version that `token` has made, 0 if it made none."""
        ...

    def update_group(self, act: OnTemplate, number: int, token: str) -> Update:
        """Begin it; with the same `token` it is the same one. Raises: as `set_options`."""
        ...

    def update_to(self, act: OnTemplate, number: int) -> str | Unknown:
        """The id of the update of the group to that version of its template, "" if there is none."""
        ...

    def update(self, group: str, ident: str) -> Update | Unknown | Absent:
        """How one stands, by EKS's own id of it."""
        ...


class NodeClasses(Protocol):
    """Karpenter's EC2NodeClasses, by their names. Every method may raise ClusterError: the cluster cannot be talked
    to."""

    def one(self, name: str) -> Doc | Absent | Unknown:
        """`Unknown.missing` is the right without which it is not had."""
        ...

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """The object as it is then. `body`: a merge patch; where it names a resourceVersion, of that object alone.

        Raises:
            Drifted: the object is another one by now; nothing was changed.
            Forbidden, Unauthorized: it may not be.
            ClusterError: it was not, or nobody knows.
        """
        ...
