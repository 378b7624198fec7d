"""What it means that pods have taken the new Corefile up, or have not."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.dns_change_codes import NOT_TAKEN_UP
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, in_order
from kubectl_eksdoc.core.model.missing_rights import allow
from kubectl_eksdoc.core.model.opt_ins import opt_in_of
from kubectl_eksdoc.core.run.dns.taking_up import Stand, Taken, Verified

RESTART = "kubectl rollout restart deployment/coredns -n kube-system"
_WATCH = "kubectl rollout status deployment/coredns -n kube-system"
_LOGS = "kubectl logs -n kube-system -l k8s-app=kube-dns --tail 50 --prefix"
_DEPLOYMENT = Subject("Deployment", "coredns", "kube-system")


def judged(verified: Verified | None, reloads: bool, rolled: bool = False) -> tuple[Finding, ...]:
    """`reloads`: CoreDNS looks by itself; where it does not, nobody was asked. `rolled`: its pods were made anew by the
    same change."""
    if not reloads:
        return (_made_anew() if rolled else _restart(),)
    if verified is None:
        return ()
    found = [_of_pod(each) for each in verified.stands if each.taken is not Taken.VERIFIED]
    return in_order((*found, *_of_all(verified)))


def _restart() -> Finding:
    return Finding(
        NOT_TAKEN_UP,
        Severity.HIGH,
        Status.FAIL,
        _DEPLOYMENT,
        "the Corefile has no plugin reload: no pod takes the new one up until it is made anew",
        ("pods that leave in that rollout still wait as long as the old Corefile says",),
        (Remedy("restart them, one after the other", RESTART), Remedy("look how far it is", _WATCH)),
    )


def _made_anew() -> Finding:
    return Finding(
        NOT_TAKEN_UP,
        Severity.LOW,
        Status.UNKNOWN,
        _DEPLOYMENT,
        "its pods were made anew by the same change; without the plugin reload nothing tells which Corefile they run",
        ("a pod that starts reads the Corefile that its node knows then",),
        (Remedy("to be sure, restart them once more", RESTART),),
        "what its pods run",
    )


def _of_pod(stand: Stand) -> Finding:
    namespace, _, name = stand.pod.partition("/")
    subject = Subject("Pod", name, namespace)
    where = (f"on {stand.node}",) if stand.node else ()
    look = Remedy("see what it says", f"kubectl logs -n {namespace} {name} -c coredns --tail 50")
    if stand.taken is Taken.REFUSED:
        said = f"it has refused the new Corefile and goes on with the old one: {stand.why}"
        back = Remedy("go back to the Corefile of before: whoever starts with this one crashes")
        return Finding(NOT_TAKEN_UP, Severity.CRITICAL, Status.FAIL, subject, said, where, (back, look))
    if stand.taken is Taken.NOT_YET:
        said = f"it has not taken the new Corefile up yet: {stand.why}"
        return Finding(NOT_TAKEN_UP, Severity.MEDIUM, Status.FAIL, subject, said, where, (look,))
    missing = ", ".join(stand.missing) or "what it runs"
    said = f"it is not known whether it runs the new Corefile: {stand.why}"
    opted = (allow(each) for each in stand.missing if opt_in_of(each))
    return Finding(NOT_TAKEN_UP, Severity.HIGH, Status.UNKNOWN, subject, said, where, (look, *opted), missing)


def _of_all(verified: Verified) -> Iterator[Finding]:
    if verified.unread:
        yield Finding(
            NOT_TAKEN_UP,
            Severity.HIGH,
            Status.UNKNOWN,
            _DEPLOYMENT,
            f"which pods run the new Corefile is not known: {verified.unread}",
            (),
            (Remedy("look at what they print", _LOGS),),
            "list pods",
        )
