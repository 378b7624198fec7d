"""The rights of ``check``: of what it reads itself, and of the commands that it sums up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kubectl_eksdoc.cli.rights import asked as of_aws
from kubectl_eksdoc.cli.rights import drains, probes
from kubectl_eksdoc.cli.rights.right import NOTHING_WITHOUT, Right
from kubectl_eksdoc.core.model import kinds, opt_ins
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.model.check_needs import FURTHER, Need
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.versions import Version
from kubectl_eksdoc.core.rules.upgrades.removed_apis import READ_TO
from kubectl_eksdoc.core.rules.upgrades.written_kinds import OLDEST, going, gone_before

METRICS = Resource("", "/metrics", namespaced=False)
"""No resource: a path of the server itself (RBAC, nonResourceURLs)."""
SECRETS = Resource("Secret", "secrets")

_UNCOUNTED = "whether the API server has had requests for APIs that go is unknown"
_UNWRITTEN = "in which version these objects were written is unknown, where one of their versions goes on the way"
_REFUSED = "whether manifests of these would be refused today is unknown"
_NO_RELEASES = "which API versions the releases of Helm use is unknown"

NEXT = Version(READ_TO.major, READ_TO.minor + 1)
"""The newest that is the next version of a cluster whose removals are all known."""


def written(target: Version) -> tuple[Right, ...]:
    """All that ways to that version look at, wherever they begin; one way looks at few of them."""
    return tuple(Right("list", each, lost=_UNWRITTEN) for each in going(OLDEST, target))


OF_NEED: Mapping[Need, tuple[Right, ...]] = {
    Need.API_REQUESTS: (Right("get", METRICS, lost=_UNCOUNTED),),
    Need.API_WRITTEN: written(NEXT),
    Need.API_GONE: tuple(Right("list", each, lost=_REFUSED) for each in gone_before(NEXT)),
    Need.HELM: tuple(Right(verb, SECRETS, lost=_NO_RELEASES, opt_in=opt_ins.HELM_RELEASES) for verb in ("get", "list")),
    Need.PLAN_DRAIN: drains.DRAIN_PLAN,
    Need.PLAN_ADDONS: probes.ADDON_DIFF,
    Need.PLAN_IMDS: probes.IMDS_PROBE,
    Need.PLAN_DNS: (*probes.COREDNS, *probes.INTERRUPTION),
    Need.PLAN_INTERRUPTION: probes.INTERRUPTION,
}
"""Besides the lists that a check judges by. Of `API_WRITTEN` and `API_GONE` all that ways to the `NEXT` version need.
What is not in here needs no right of the cluster."""

_ADDONS = (questions.ADDONS, questions.ADDON, questions.ADDON_VERSIONS)
_GROUPS = (questions.NODE_GROUPS, questions.NODE_GROUP)
_UPDATES = (questions.UPDATES, questions.UPDATE)
ASKED_OF_NEED: Mapping[Need, tuple[Question, ...]] = {
    Need.VERSIONS: (questions.CLUSTER_VERSIONS,),
    Need.ADDONS: _ADDONS,
    Need.INSIGHTS: (questions.INSIGHTS, questions.INSIGHT),
    Need.CLUSTER_UPDATES: _UPDATES,
    Need.NODE_GROUPS: _GROUPS,
    Need.GROUP_UPDATES: (questions.NODE_GROUPS, *_UPDATES),
    Need.TEMPLATES: (*_GROUPS, questions.TEMPLATE_VERSIONS),
    Need.RELEASES: (*_GROUPS, questions.PARAMETER),
    Need.SUBNETS: (questions.SUBNETS,),
    Need.QUOTAS: (questions.QUOTA, questions.METRICS),
    Need.PLAN_ADDONS: (*_ADDONS, questions.ADDON_CONFIGURATION),
    Need.PLAN_IMDS: of_aws.BY_COMMAND["imds-probe"],
    Need.PLAN_DNS: of_aws.BY_COMMAND["coredns-lameduck"],
    Need.PLAN_INTERRUPTION: of_aws.BY_COMMAND["interruption"],
}
"""What is not in here asks AWS nothing."""
WHOSE = (questions.CALLER, questions.CLUSTER)
"""Without these nothing that AWS says is believed."""


def _each_once(rights: Iterable[Right]) -> tuple[Right, ...]:
    """By what is allowed, and where: several commands say different things of the same right."""
    found: dict[object, Right] = {}
    for right in rights:
        found.setdefault(right.what, right)
    return tuple(found.values())


_EXTENSIONS = "what extends the API, and who answers for it, is unknown"
LISTED = (
    *(Right("list", each, True) for each in NOTHING_WITHOUT),
    Right("list", kinds.CRON_JOBS, lost="the sockets of runtimes that CronJobs mount are unknown"),
    *(Right("list", each, lost=_EXTENSIONS) for each in (kinds.API_SERVICES, kinds.DEFINITIONS)),
)
"""Lists that no other command reads, or without which there is no answer."""

CHECK = _each_once((*LISTED, *(right for each in OF_NEED.values() for right in each)))
ASKED: tuple[Question, ...] = tuple(
    dict.fromkeys((*WHOSE, *(question for each in ASKED_OF_NEED.values() for question in each)))
)


def narrowed(kinds_read: Collection[Resource], needs: Collection[Need], target: Version = NEXT) -> tuple[Right, ...]:
    """Those that chosen checks need, by the lists that they judge by and by what else, on ways to that version."""
    listed = {Right("list", each).what for each in kinds_read}
    of_needs = OF_NEED if target == NEXT else {**OF_NEED, Need.API_WRITTEN: written(target)}
    return _each_once(
        (
            *(each for each in CHECK if each.required or each.what in listed),
            *(right for need, each in of_needs.items() if need in needs for right in each),
        )
    )


def asked(needs: Collection[Need]) -> tuple[Question, ...]:
    """As `narrowed`, of AWS."""
    return (*WHOSE, *(question for need, each in ASKED_OF_NEED.items() if need in needs for question in each))


_UNSEEN = "what has changed of these since then is unknown"
CHANGED = tuple(Right("list", each, lost=_UNSEEN) for each in (*kinds.HISTORY_OF.values(), kinds.EVENTS))
ASKED_OF_CHANGES = (questions.ADDONS, questions.NODE_GROUPS, *_UPDATES)
"""Of ``--changed-since``, besides."""

SNAPSHOT = _each_once(
    (*CHECK, *probes.ADDON_AFTER, *CHANGED, *written(Version(READ_TO.major, READ_TO.minor + FURTHER)))
)
"""All that is read by whichever command."""
