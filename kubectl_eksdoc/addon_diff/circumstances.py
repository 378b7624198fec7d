"""What speaks against the call itself, whatever becomes of fields: its values, its version, who else writes."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.addon_diff.expected import owners_of
from kubectl_eksdoc.addon_diff.facts import AddonFacts, AddonUpdateRequest
from kubectl_eksdoc.addon_diff.merging import leaves
from kubectl_eksdoc.addon_diff.remedies import remedy
from kubectl_eksdoc.addon_diff.writers import tool_of
from kubectl_eksdoc.kubernetes.api.ownership.entries import MalformedEntries
from kubectl_eksdoc.model.api_objects import named
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.configuration import SchemaViolation, shown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.versions import parse


def circumstances(
    facts: AddonFacts, asked: AddonUpdateRequest, broken: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """In no order. `broken`: what of the values, given or kept, the target's schema does not allow."""
    yield from _of_values(facts, asked)
    yield from _refused(facts, asked, broken)
    yield from _of_version(facts)
    yield from _of_writers(facts)
    yield from _of_pods(facts)


_WHOLE = Remedy("give the whole document: the values of today with what is to be new")


def _of_values(facts: AddonFacts, asked: AddonUpdateRequest) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    if isinstance(facts.values, Unknown):
        yield Finding.of(
            "addon-values-refused/unreadable",
            addon,
            (facts.values.why,),
            lacking=facts.values.missing or facts.values.why,
        )
        return
    if asked.values is None:
        return
    new = {leaf.path for leaf in leaves(asked.values)}
    gone = [leaf.path for leaf in leaves(facts.values) if leaf.path not in new]
    if gone:
        whole = not asked.values
        said = "all configuration values are taken away" if whole else "configuration values are taken away"
        yield Finding.of(
            "addon-values-dropped",
            addon,
            ("they are replaced as a whole: what the new document lacks goes back to its default",),
            remedy=(_WHOLE,),
            said=said,
            map=", ".join(map(shown, gone)),
        )


def _refused(
    facts: AddonFacts, asked: AddonUpdateRequest, broken: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """What of the values, given or kept, the target's schema does not allow."""
    addon = Subject("Addon", facts.addon.name)
    version = f"{facts.addon.name} {facts.target.version}"
    whose = "kept from today" if asked.values is None else "given"
    if isinstance(broken, Unknown):
        yield Finding.of(
            "addon-values-refused/unknown",
            addon,
            (broken.why,),
            version=version,
            whose=whose,
            lacking=broken.missing or broken.why,
        )
        return
    for each in broken:
        yield Finding.of(
            "addon-values-refused/refused",
            addon,
            ("EKS may let it pass: it is a format that is not of the standard",) if each.doubtful else (),
            severity=Severity.MEDIUM if each.doubtful else Severity.HIGH,
            remedy=(Remedy(remedy(each, version)),),
            version=version,
            whose=whose,
            each=each,
        )


def _of_version(facts: AddonFacts) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    target, kubernetes = facts.target.version, facts.cluster.version
    if isinstance(facts.offered, Unknown):
        yield Finding.of(
            "addon-version-unfit/not-known",
            addon,
            (facts.offered.why,),
            target=target,
            kubernetes=kubernetes,
            lacking=facts.offered.missing or facts.offered.why,
        )
    elif not facts.offered:
        message = f"EKS does not offer {target} for Kubernetes {kubernetes}"
        listed = Remedy("name a version that EKS offers: aws eks describe-addon-versions lists them")
        yield Finding(Code.of("addon-version-unfit"), Severity.HIGH, Status.FAIL, addon, message, (), (listed,))
    old, new = parse(facts.now.version), parse(target)
    if old is not None and new is not None and new < old:
        yield Finding.of("addon-version-unfit/older", addon, target=target, version=facts.now.version)
    if facts.addon.status not in ("", "ACTIVE"):
        yield Finding.of(
            "addon-not-active",
            addon,
            tuple(f"{issue.code}: {issue.message}" for issue in facts.addon.issues),
            addon_name=facts.addon.name,
            status=facts.addon.status,
        )
    yield from by_minors(facts)


def by_minors(facts: AddonFacts) -> Iterator[Finding]:
    """That it goes over several minors at once: AWS recommends one at a time, and refuses nothing."""
    if len(facts.steps) > 1:
        yield Finding(
            Code.of("addon-version-unfit"),
            Severity.INFO,
            Status.PASS,
            Subject("Addon", facts.addon.name),
            f"AWS recommends to update {facts.addon.name} one minor version at a time: "
            + " → ".join((facts.addon.version, *facts.steps)),
            ("EKS user guide, update the Amazon VPC CNI add-on: a recommendation",),
            (Remedy(f"check each step separately, the first one with --to {facts.steps[0]}"),),
        )


def _of_pods(facts: AddonFacts) -> Iterator[Finding]:
    astray = facts.usage.astray if facts.addon.name == "vpc-cni" else ()
    for pod in astray:
        assert pod.branch is not None, "else it is not known to be astray"
        yield Finding.of(
            "addon-pods-astray",
            Subject("Pod", pod.name, pod.namespace),
            ("amazon-vpc-cni-k8s #2268",),
            pod_key=pod.key,
            address=pod.branch.address,
            interface=pod.branch.interface,
            namespace=pod.namespace,
            pod_name=pod.name,
        )


def _of_writers(facts: AddonFacts) -> Iterator[Finding]:
    for live in facts.objects:
        try:
            owners = sorted({owner.manager for owner in owners_of(live) if not owner.subresource})
        except MalformedEntries:
            continue
        of = named(live)
        for manager, tool in ((each, tool_of(each)) for each in owners):
            if tool:
                yield Finding.of(
                    "addon-other-writer", Subject(of.kind, of.name, of.namespace), tool=tool, manager=manager
                )
