"""How long a node that has stopped answering is still Ready."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.cordon import not_ready_after_s


@pytest.mark.parametrize(
    ("server", "seconds"),
    [("v1.31.9-eks-1", 40), ("v1.32.0-eks-1", 50), ("v1.36.1", 50), ("", 50), ("of a fork", 50), ("1.30", 40)],
)
def test_not_ready_after(server: str, seconds: int) -> None:
    assert not_ready_after_s(server) == seconds
