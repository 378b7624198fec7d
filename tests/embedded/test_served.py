"""Of which version a served cluster says it is."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.served import whole


@pytest.mark.parametrize(
    ("read", "said"),
    [("v1.33", "v1.33.0"), ("1.33", "v1.33.0"), ("v1.33.1-eks-1b3e656", "v1.33.1-eks-1b3e656"), ("v1.36.2", "v1.36.2")],
)
def test_a_served_version_has_a_patch(read: str, said: str) -> None:
    assert whole(read) == said
