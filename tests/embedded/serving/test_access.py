"""What users with few rights may: nothing but what their rules name, and what everybody may."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.serving.access import Action, RbacRule, restricted

READER = restricted("reader", [RbacRule(("get",), ("pods",), ("",), ("shop",))])


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        (Action("get", "", "pods", "", "shop"), True),
        (Action("get", "", "pods", "", "other"), False),
        (Action("get", "", "pods", "log", "shop"), False),
        (Action("get", "", "secrets", "", "shop"), False),
        (Action("create", "authorization.k8s.io", "selfsubjectaccessreviews"), True),
        (Action("get", path="/apis/apps/v1"), True),
        (Action("get", path="/metrics"), False),
    ],
)
def test_only_what_is_named(action: Action, allowed: bool) -> None:
    assert READER.may(action) is allowed
