"""The finding codes of add-on updates that have happened; with `codes` and `addon_codes` they are the one registry."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

FIELD_LOST = Code(
    "addon-field-lost",
    "An update has overwritten a field that somebody had set",
    "Told after the fact by the revisions of the pod template: what the field had was neither what the chart of that "
    "version sets, nor came with an update.",
)
LOSS_REPEATS = Code(
    "addon-loss-repeats",
    "What an update took is set again by hand, and the next one takes it again",
    "A patch makes a person the owner of the field; only configuration values make EKS apply what is wanted.",
)
CHANGE_UNTOLD = Code(
    "addon-change-untold",
    "It cannot be told what an update changed, or who had wanted it otherwise",
    "Of pod templates the API keeps the earlier ones, under numbers; of ConfigMaps, ServiceAccounts and everything "
    "else it keeps none. When eks wrote an object last is noted, and no more.",
    (kinds.CONTROLLER_REVISIONS, kinds.REPLICA_SETS),
)
UPDATE_UNTOLD = Code(
    "addon-update-untold",
    "What EKS tells of an add-on's updates is not enough to look back",
    "Which update was the latest, when it began and what it was asked to do is known from ListUpdates and "
    "DescribeUpdate alone.",
)
PODS_TO_RECREATE = Code(
    "addon-pods-to-recreate",
    "Pods keep what they got while a field was lost",
    "Some of what an add-on does for a pod is done once, when the pod starts: giving the field back does not mend it.",
)

ALL: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
