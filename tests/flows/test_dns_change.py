"""What a change of CoreDNS would take from people besides: shown, and refused until it is accepted."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.changes.dns_change import not_accepted, resets
from kubectl_eksdoc.coredns_lameduck.change.change import CorednsChange
from kubectl_eksdoc.coredns_lameduck.change.wishes import Wishes
from tests.addon.stand_in import hands
from tests.addon.stand_in.histories import installed
from tests.addon.updating import Case

OLD, NEW = "v1.12.0-eksbuild.1", "v1.12.6-eksbuild.1"


def test_a_reset_that_nobody_accepted_forbids_it() -> None:
    """The rules are those of any add-on; vpc-cni is the one whose chart is known."""
    service = installed(OLD)
    hands.sets_env(service.objects, "ENABLE_POD_ENI", "true")
    plan = Case(service, NEW, "OVERWRITE", as_asked=True).ready().plan
    wished = CorednsChange(Wishes(20), True, before={}, values={})
    found = [calls(each.field) for each in resets(plan, wished)]
    assert "ENABLE_POD_ENI of container aws-node" in found
    (guard,) = not_accepted(plan, wished, ())
    assert "ENABLE_POD_ENI" in guard.why and "--accept-reset" in guard.hint
    assert list(not_accepted(plan, wished, found)) == []
    on_purpose = CorednsChange(Wishes(20), True, before={}, values={"env": {"ENABLE_POD_ENI": "false"}})
    assert resets(plan, on_purpose) == ()
