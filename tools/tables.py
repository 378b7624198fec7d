"""Tables of the README made from the data the command line itself uses."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli.flags import HONOURED, REFUSED
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.rights.asked import OF
from kubectl_eksdoc.embedded.faults.registry import ALL
from kubectl_eksdoc.objects.intake import CRD_PLURAL


def flags() -> str:
    rows = [(code(flag.shown), "ours" if flag.ours else "kubectl", flag.about) for flag in HONOURED]
    return table(("flag", "of", "what it does"), rows)


def refused_flags() -> str:
    return table(("flag", "why not"), [(code(", ".join(refused.names)), refused.why) for refused in REFUSED])


def faults() -> str:
    """What can be made to go wrong by name."""
    rows = [(code(each.shown), each.about, each.default_shown, each.of.value) for each in ALL]
    return table(("fault", "what goes wrong", "value, unless said", "a share is of"), rows)


def exit_codes() -> str:
    return table(("exit", "meaning"), [(str(code), meaning) for code, meaning in exits.MEANINGS.items()])


def addon_rights() -> str:
    """What ``addon-diff`` may use in the cluster and in AWS, and what is not known without it."""
    rows = [
        (placed(right), right.lost or "nothing can be said: the command ends with exit code 3")
        for right in rights.BY_COMMAND["addon-diff"]
    ]
    rows += [
        (code(question.action), _ASKED.get(question.operation, "what it tells is unknown"))
        for question in rights.ASKED_OF_AWS["addon-diff"]
        if question.action
    ]
    return table(("right", "without it"), rows)


def imds_probe_rights() -> str:
    """What ``imds-probe`` may use in the cluster and in AWS, and what is not known without it."""
    rows = [
        (placed(right), right.lost or "nothing can be said: the command ends with exit code 3")
        for right in rights.BY_COMMAND["imds-probe"]
    ]
    rows += [(code(each.action), OF[each]) for each in rights.ASKED_OF_AWS["imds-probe"] if each.action]
    return table(("right", "without it"), rows)


_OF_NOTICES = "as `interruption` without it, where CoreDNS is on Spot nodes of Karpenter"


def coredns_rights() -> str:
    """What ``coredns-lameduck`` may use in the cluster and in AWS, and what is not known without it."""
    lost = {
        "DescribeCluster": "nothing that AWS says is believed: all of it is unknown",
        "DescribeAddon": "whether CoreDNS is an add-on of EKS, and what its configuration holds, is unknown",
        "DescribeAddonVersions": "nothing: which versions EKS offers matters to a change only",
        "DescribeAddonConfiguration": "nothing: what the version takes matters to a change only",
    }
    command = "coredns-lameduck"
    rows = [
        (placed(right), right.lost or "nothing can be said: the command ends with exit code 3")
        for right in rights.BY_COMMAND[command]
    ]
    rows += [
        (
            code(each.action),
            lost.get(each.operation, _OF_NOTICES),
        )
        for each in sorted(rights.ASKED_OF_AWS[command], key=lambda each: each.operation not in lost)
        if each.action
    ]
    return table(("right", "without it"), rows)


def imds_fix_rights() -> str:
    """What ``imds-probe --apply`` may use besides."""
    lost = {
        "ModifyInstanceMetadataOptions": "`--fix instance-options` cannot be carried out",
        "CreateLaunchTemplateVersion": "`--fix template-version` cannot be carried out",
        "UpdateNodegroupVersion": "`--fix template-version` makes a version that nothing uses, and ends there",
        "DescribeUpdate": "how far an update of a node group is, is told by the group itself, and not why it failed",
        "ListUpdates": "`--resume` does not find an update whose answer was lost, and asks for it again",
    }
    command = "imds-probe --apply"
    more = (right for right in rights.BY_COMMAND[command] if right not in rights.BY_COMMAND["imds-probe"])
    rows = [(placed(right), right.lost) for right in more]
    rows += [(code(each.action), lost[each.operation]) for each in rights.ASKED_OF_AWS[command]]
    return table(("right", "without it"), rows)


def imds_active_rights() -> str:
    """What ``imds-probe --active`` may use in the cluster, where, and what is not known or not done without it."""
    return _of_probe("imds-probe --active")


def dns_measure_rights() -> str:
    """What ``coredns-lameduck --measure`` may use in the cluster, where, and what is not known or done without it."""
    return _of_probe("coredns-lameduck --measure")


def _of_probe(command: str) -> str:
    rows = [
        (named(right), rights.where(right), right.lost or "nothing is measured") for right in rights.BY_COMMAND[command]
    ]
    return table(("right", "where", "without it"), rows)


def interruption_rights() -> str:
    """What ``interruption`` may use in the cluster and in AWS, and what is not known without it."""
    rows = [
        (placed(right), right.lost or "nothing can be said: the command ends with exit code 3")
        for right in rights.BY_COMMAND["interruption"]
    ]
    asked = (each for each in rights.ASKED_OF_AWS["interruption"] if each.action)
    rows += [(code(each.action), OF[each]) for each in asked]
    return table(("right", "without it"), rows)


def addon_after_rights() -> str:
    """What ``addon-diff --after`` may use besides."""
    lost = {
        "ListUpdates": "which update was the last is unknown: exit code 5",
        "DescribeUpdate": "what an update was asked to do, and when, is unknown: exit code 5",
    }
    command = "addon-diff --after"
    more = (right for right in rights.BY_COMMAND[command] if right not in rights.BY_COMMAND["addon-diff"])
    rows = [(placed(right), right.lost) for right in more]
    rows += [
        (code(each.action), lost[each.operation]) for each in rights.ASKED_OF_AWS[command] if each.operation in lost
    ]
    return table(("right", "without it"), rows)


def addon_apply_rights() -> str:
    """What ``addon-diff --apply`` may use besides; in the cluster it is nothing."""
    rows = [(code(each.action), _ASKED[each.operation]) for each in rights.ASKED_OF_AWS["addon-diff --apply"]]
    return table(("right", "without it"), rows)


def coredns_change_rights() -> str:
    """What ``coredns-lameduck --apply`` may use besides."""
    command = "coredns-lameduck --apply"
    more = (right for right in rights.BY_COMMAND[command] if right not in rights.BY_COMMAND["coredns-lameduck"])
    rows = [(placed(right), right.lost) for right in more]
    shown = rights.ASKED_OF_AWS["coredns-lameduck --set"]
    asked = (each for each in rights.ASKED_OF_AWS[command] if each not in shown)
    rows += [(code(each.action), _ASKED[each.operation]) for each in asked]
    return table(("right", "without it"), rows)


_ASKED = {
    "UpdateAddon": "nothing is changed: `--apply` ends with exit code 4",
    "DescribeUpdate": "the add-on itself is looked at instead, which does not tell why an update failed",
    "ListUpdates": "an update whose answer was lost is not found again by `--resume`: exit code 6",
    "DescribeTargetHealth": "the health of the affected targets is not known, and that is said: exit code 5",
    "DescribeCluster": "nothing of AWS is believed: the command ends with exit code 4",
    "DescribeAddon": "nothing can be said of the add-on: the command ends with exit code 4",
    "ListAddons": "`--all` ends with exit code 4",
    "DescribeAddonVersions": "whether EKS offers the target is unknown, and `--to` must name it",
    "DescribeAddonConfiguration": "the schemas are unknown",
}


def run_roles() -> str:
    """What ``drain run`` may do beside reading, everywhere and in the journal's namespace."""
    reading = set(map(str, rights.DRAIN_PLAN))
    mine = [right for right in rights.BY_COMMAND["drain run"] if str(right) not in reading]
    mine = [right for right in mine if not right.flag]
    everywhere = _role("ClusterRole", "eksdoc-drain-run", [right for right in mine if not right.journal])
    there = _role("Role", "eksdoc-journal\n  namespace: kube-system", [right for right in mine if right.journal])
    return "\n".join(["```yaml", *everywhere, "---", *there, "```"]) + "\n"


def _role(kind: str, name: str, of: Iterable[Right]) -> list[str]:
    """Verbs by what they are allowed on; rights on the same verbs of one group stand together."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for right in of:
        plural = right.of.partition("/")[0].partition(".")[0]
        name_of = f"{plural}/{right.subresource}" if right.subresource else plural
        verbs.setdefault((right.resource.group, name_of), []).append(right.verb)
    rules = [
        f'  - apiGroups: ["{group}"]\n    resources: [{resource}]\n    verbs: [{", ".join(dict.fromkeys(allowed))}]'
        for (group, resource), allowed in verbs.items()
    ]
    return [f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\nrules:", *rules]


def dump() -> str:
    """The commands that dump all a plan reads: a file for each kind, so that a kind without objects is seen too.

    The definitions of custom resources tell a kind that the cluster does not have from one that was not dumped.
    """
    plurals = textwrap.wrap(" ".join([*(r.resource.plural for r in rights.DRAIN_PLAN), CRD_PLURAL]), 100)
    kinds = " \\\n    ".join(plurals)
    body = 'do kubectl get "$kind" -A -o json > "dump/$kind.json" || rm "dump/$kind.json"; done'
    return f"```sh\nmkdir dump\nfor kind in {kinds}\n{body}\n```\n"


def named(right: Right) -> str:
    """With what has to be said for it to be granted."""
    granted = (f"with `{right.flag}`" if right.flag else "", f"opt-in {right.opt_in.name}" if right.opt_in else "")
    return ", ".join((code(str(right)), *filter(None, granted)))


def placed(right: Right) -> str:
    """As `named`, and where, if that is not everywhere."""
    where = rights.where(right)
    return named(right) if where == "everywhere" else f"{named(right)} {where}"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
