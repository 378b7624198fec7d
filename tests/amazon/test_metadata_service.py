"""Who reaches the instance metadata service, and what the next instance gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import (
    HOST,
    NESTED,
    POD,
    Launch,
    OptionsOrigin,
    Reach,
    launch,
    of_group_by_eks,
    verdict,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import Image, MetadataOptions, SaidOptions

DENIED = Unknown("not allowed", "ec2:DescribeLaunchTemplateVersions")
PLAIN, V2 = Image("ami-1"), Image("ami-2", v2=True)
NOTHING = SaidOptions()


@pytest.mark.parametrize(
    ("instance_type", "known"),
    [
        ("m5.large", True),
        ("u7i-12tb.224xlarge", True),
        ("", True),
        ("m8g.large", False),
        ("g6e.xlarge", False),
        ("p6-b200.48xlarge", False),
        ("c7i-flex.large", False),
    ],
)
def test_ec2s_own_default_depends_on_when_a_type_came_out(instance_type: str, known: bool) -> None:
    made = launch(NOTHING, NOTHING, PLAIN, instance_type)
    assert isinstance(made.options, MetadataOptions) is known and made.endpoint.value is True
    whole = SaidOptions("required", 1)
    assert launch(whole, NOTHING, PLAIN, instance_type).options == MetadataOptions("required", 1)
    assert launch(NOTHING, NOTHING, V2, instance_type).options == MetadataOptions("required", 2)


@pytest.mark.parametrize(
    ("tokens", "hops", "of"),
    [
        ("required", 1, (Reach.REACHABLE, Reach.CUT_OFF, Reach.CUT_OFF)),
        ("optional", 1, (Reach.REACHABLE, Reach.V1_ONLY, Reach.V1_ONLY)),
        ("required", 2, (Reach.REACHABLE, Reach.REACHABLE, Reach.CUT_OFF)),
        ("optional", 2, (Reach.REACHABLE, Reach.REACHABLE, Reach.V1_ONLY)),
        ("required", 3, (Reach.REACHABLE, Reach.REACHABLE, Reach.REACHABLE)),
    ],
)
def test_who_reaches_it(tokens: str, hops: int, of: tuple[Reach, ...]) -> None:
    options = MetadataOptions(tokens, hops)
    assert tuple(verdict(options, needed).reach for needed in (HOST, POD, NESTED)) == of


@given(
    some.builds(MetadataOptions, some.sampled_from(["optional", "required"]), some.integers(1, 64), some.booleans()),
    some.integers(1, 64),
)
def test_fewer_hops_never_reach_less(options: MetadataOptions, hops: int) -> None:
    order = (Reach.CUT_OFF, Reach.V1_ONLY, Reach.REACHABLE)
    near, far = (order.index(verdict(options, each).reach) for each in (hops, hops + 1))
    assert near >= far
    assert (verdict(options, hops).reach is Reach.CUT_OFF) == (
        not options.endpoint or (options.tokens == "required" and options.hop_limit < hops)
    )


def test_what_does_not_hold_yet_is_unknown() -> None:
    assert verdict(MetadataOptions("required", 2, pending=True), POD).reach is Reach.UNKNOWN
    assert verdict(None, HOST).reach is Reach.UNKNOWN
    assert verdict(DENIED, HOST).why == "not allowed"


def values(launched: Launch) -> tuple[object, ...]:
    return tuple((each.value, each.origin) for each in (launched.tokens, launched.hop_limit, launched.endpoint))


def test_field_by_field_the_strongest_says_it() -> None:
    assert values(launch(NOTHING, NOTHING, PLAIN)) == (
        ("optional", OptionsOrigin.EC2),
        (1, OptionsOrigin.EC2),
        (True, OptionsOrigin.EC2),
    )
    assert values(launch(NOTHING, NOTHING, V2))[:2] == (("required", OptionsOrigin.IMAGE), (2, OptionsOrigin.IMAGE))
    account = SaidOptions("optional", endpoint=False)
    assert values(launch(SaidOptions(hop_limit=3), account, V2)) == (
        ("optional", OptionsOrigin.ACCOUNT),
        (3, OptionsOrigin.TEMPLATE),
        (False, OptionsOrigin.ACCOUNT),
    )


@pytest.mark.parametrize("image", [PLAIN, V2, DENIED])
def test_imdsv2_as_the_default_of_the_account_brings_two_hops(image: Image | Unknown) -> None:
    found = launch(NOTHING, SaidOptions("required"), image)
    assert values(found)[:2] == (("required", OptionsOrigin.ACCOUNT), (2, OptionsOrigin.ACCOUNT_V2))
    assert launch(NOTHING, SaidOptions("required", 1), image).hop_limit.value == 1
    assert launch(SaidOptions(hop_limit=1), SaidOptions("required"), image).hop_limit.value == 1


def test_what_is_not_known_leaves_open_only_what_nobody_above_says() -> None:
    found = launch(SaidOptions("required", 2), DENIED, V2)
    assert found.tokens.value == "required" and found.hop_limit.value == 2
    assert found.endpoint.value is DENIED and found.options is DENIED
    whole = SaidOptions("required", 1, True)
    assert launch(whole, DENIED, DENIED).options == MetadataOptions("required", 1)
    assert launch(DENIED, whole, V2).options is DENIED
    unknown_image = launch(NOTHING, NOTHING, DENIED)
    assert unknown_image.endpoint.value is True and unknown_image.hop_limit.value is DENIED


SAID = some.builds(
    SaidOptions,
    some.sampled_from(["", "optional", "required"]),
    some.none() | some.integers(1, 64),
    some.none() | some.booleans(),
)


@given(SAID, SAID, some.sampled_from([PLAIN, V2]))
def test_what_a_template_says_is_what_the_instance_gets(
    template: SaidOptions, account: SaidOptions, image: Image
) -> None:
    options = launch(template, account, image).options
    assert isinstance(options, MetadataOptions)
    assert template.tokens in ("", options.tokens)
    assert template.hop_limit in (None, options.hop_limit)
    assert template.endpoint in (None, options.endpoint)


def test_what_eks_puts_into_its_own_templates() -> None:
    assert of_group_by_eks("AL2023_ARM_64_STANDARD") == SaidOptions("required", 1)
    assert of_group_by_eks("AL2_x86_64_GPU") == SaidOptions("optional", 2)
    for other in ("BOTTLEROCKET_x86_64", "WINDOWS_CORE_2022_x86_64", "CUSTOM", ""):
        assert isinstance(of_group_by_eks(other), Unknown)
