"""Which form of an answer is chosen by the Accept headers real clients send."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.catalogue import PARTIAL_LIST, PLAIN, TABLE, AnswerForm

KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (KUBECTL_GET, TABLE),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", PLAIN),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", PARTIAL_LIST),
        ("application/vnd.kubernetes.protobuf,application/json", PLAIN),
        ("application/vnd.kubernetes.protobuf", None),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", None),
        ("*/*", PLAIN),
        ("application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", TABLE),
        ("application/json;as=Table;v=v1;g=meta.k8s.io;q=many", TABLE),
    ],
)
def test_objects(accept: str, form: AnswerForm | None) -> None:
    assert catalogue.choose(accept, (TABLE, PARTIAL_LIST)) == form
