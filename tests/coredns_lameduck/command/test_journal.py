"""The parts of a Corefile that a journal keeps."""

from __future__ import annotations

from kubectl_eksdoc.coredns_lameduck.apply import NewCorefile

PLAIN = ".:53 {\n    route53 example.org.:Z1 {\n        aws_access_key ID mellon\n    }\n    ready\n}\n"
TEXT = f"{PLAIN}# mellon\n"


def test_no_secret_and_no_comment_but_what_coredns_calls_the_whole_one() -> None:
    kept = NewCorefile.of(TEXT)
    assert "mellon" not in kept.text and "route53" in kept.text
    assert kept.sums == NewCorefile.of(PLAIN).sums != NewCorefile.of(PLAIN.replace("mellon", "other")).sums
