"""The recorded use of the node role: events of CloudTrail page by page, and a report that IAM generates first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws.ec2 import role_events, services_last_accessed
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsThrottled
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import RoleUse, RoleUses
from tests.aws.answers import Scripted, sees
from tests.aws.test_live import live, prod
from tests.aws.world.role_uses import event
from tests.aws.world.server import World
from tests.builders import NOW

__all__ = ["prod"]

LOOKUP, PROFILE = "cloudtrail:LookupEvents", "iam:GetInstanceProfile"
REPORT, DETAILS = "iam:GenerateServiceLastAccessedDetails", "iam:GetServiceLastAccessedDetails"
DAY = timedelta(days=1)
ARN = "arn:aws:iam::111122223333:instance-profile/nodes"
ROLE = "arn:aws:iam::111122223333:role/nodes"


class Waits(list[float]):
    """A clock that records the seconds of each wait."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def read(*answers: Any, instances: tuple[str, ...] = ("i-0",)) -> tuple[dict[str, Any], Scripted, Waits]:
    """Read pages in their order."""
    left: Iterator[Any] = iter(answers)
    aws, waits = Scripted({LOOKUP: lambda _: next(left)}), Waits()
    return dict(role_events(sees(aws), instances, NOW, waits)), aws, waits


def a_page(*events: Any, token: str = "") -> dict[str, Any]:
    return {"Events": list(events), **({"NextToken": token} if token else {})}


def test_requests_are_counted_by_what_was_asked_and_by_whom() -> None:
    found, aws, waits = read(
        a_page(
            event(NOW - DAY, "i-0", "s3:ListBuckets"), event(NOW - 2 * DAY, "i-0", "s3:ListBuckets", delivery="1.0")
        ),
    )
    use = RoleUse("s3", NOW - DAY, "ListBuckets", "aws-sdk-go/1.44.1", 2, 1)
    assert found == {"i-0": RoleUses(NOW - 90 * DAY, (use,))} and waits == []
    asked = aws.asked[0][1]
    assert asked["LookupAttributes"] == [{"AttributeKey": "Username", "AttributeValue": "i-0"}]
    assert asked["MaxResults"] == 50 and asked["EndTime"] - asked["StartTime"] == 90 * DAY


def test_what_other_credentials_did_is_not_the_role_of_the_node() -> None:
    """A session with a name like an instance's, and a session of a role that a pod has assumed."""
    found, *_ = read(a_page(event(NOW, "i-0", "s3:ListBuckets", delivery=None), event(NOW, "i-1", "s3:ListBuckets")))
    assert found["i-0"].uses == ()


def test_pages_are_followed_and_after_the_fourth_it_is_said_how_far_back_it_goes() -> None:
    pages = [a_page(event(NOW - (at + 1) * DAY, "i-0", f"sqs:A{at}"), token=f"t{at}") for at in range(9)]
    found, aws, waits = read(*pages)
    assert [asked.get("NextToken", "") for _, asked in aws.asked] == ["", "t0", "t1", "t2"]
    assert found["i-0"].since == NOW - 4 * DAY and len(found["i-0"].uses) == 4 and waits == [0.5] * 3
    found, aws, _ = read(pages[0], a_page(event(NOW - 5 * DAY, "i-0", "sqs:B")))
    assert found["i-0"].since == NOW - 90 * DAY and len(aws.asked) == 2


@pytest.mark.parametrize(
    "why",
    [
        AwsDenied("IAM does not allow it", missing=LOOKUP),
        AwsThrottled("AWS was asked too often"),
        AwsError("cloudtrail cannot be reached"),
        {"Events": [{"EventTime": NOW, "CloudTrailEvent": "{"}]},
    ],
)
def test_what_is_not_answered_is_unknown_and_the_others_are_not_asked(why: Any) -> None:
    found, aws, _ = read(a_page(), why, instances=("i-0", "i-1", "i-2"))
    assert isinstance(found["i-0"], RoleUses) and len(aws.asked) == 2
    assert isinstance(found["i-1"], Unknown) and found["i-2"] == found["i-1"]
    assert found["i-1"].missing == getattr(why, "missing", "")


def test_a_page_that_is_refused_later_leaves_those_before_it() -> None:
    found, *_ = read(a_page(event(NOW - DAY, "i-0", "s3:ListBuckets"), token="t"), AwsThrottled("too often"))
    assert found["i-0"].since == NOW - DAY and len(found["i-0"].uses) == 1


def told(*looks: dict[str, Any], **more: Any) -> tuple[Any, Scripted, Waits]:
    left: Iterator[dict[str, Any]] = iter(looks)
    answers = {
        PROFILE: {"InstanceProfile": {"Roles": [{"Arn": ROLE}]}},
        REPORT: {"JobId": "j"},
        DETAILS: lambda _: next(left),
        **more,
    }
    aws, waits = Scripted(answers), Waits()
    return services_last_accessed(sees(aws), (ARN,), waits)[ARN], aws, waits


WORKING = {"JobStatus": "IN_PROGRESS"}


def done(*services: str, **more: Any) -> dict[str, Any]:
    rows = [{"ServiceNamespace": name, "LastAuthenticated": NOW - DAY} for name in services]
    rows.append({"ServiceNamespace": "never", "ServiceName": "not used"})
    return {"JobStatus": "COMPLETED", "JobCompletionDate": NOW, "ServicesLastAccessed": rows, **more}


def test_a_report_is_waited_for_and_read_whole() -> None:
    found, aws, waits = told(WORKING, WORKING, done("s3", IsTruncated=True, Marker="m"), done("sqs"))
    assert found.uses == (RoleUse("s3", NOW - DAY), RoleUse("sqs", NOW - DAY)) and waits == [0.2, 0.5, 1.0]
    assert [name for name, _ in aws.asked] == [PROFILE, REPORT, DETAILS, DETAILS, DETAILS, DETAILS]
    assert aws.asked[0][1] == {"InstanceProfileName": "nodes"} and aws.asked[1][1]["Arn"] == ROLE
    assert aws.asked[-1][1]["Marker"] == "m"


@pytest.mark.parametrize(
    ("looks", "more", "why"),
    [
        ([WORKING] * 6, {}, "has not completed its report on"),
        (
            [{"JobStatus": "FAILED", "Error": {"Message": "internal", "Code": "x"}}],
            {},
            "could not make its report: internal",
        ),
        ([done("s3", IsTruncated=True, Marker="m")] * 4, {}, "more than 4 pages"),
        ([], {REPORT: AwsDenied("IAM does not allow it", missing=REPORT)}, "IAM does not allow it"),
        ([], {PROFILE: AwsDenied("IAM does not allow it", missing=PROFILE)}, "IAM does not allow it"),
        ([], {PROFILE: {"InstanceProfile": {"Roles": []}}}, "not what it should be"),
        ([], {DETAILS: AwsError("iam cannot be reached")}, "iam cannot be reached"),
    ],
)
def test_a_report_that_is_not_there_is_unknown(looks: list[Any], more: dict[str, Any], why: str) -> None:
    found, *_ = told(*looks, **more)
    assert isinstance(found, Unknown) and why in found.why


@pytest.fixture
def now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)


def test_cloudtrail_over_http(prod: World, now: datetime) -> None:
    """A page has 50 events; a day before the retention period returns none."""
    prod.happened(*(event(now - timedelta(minutes=at), "i-0", "ec2:DescribeInstances") for at in range(1, 61)))
    prod.happened(event(now - 3 * DAY, "i-0", "s3:ListBuckets"), event(now - 91 * DAY, "i-0", "sqs:ListQueues"))
    found = role_events(sees(live(prod)), ("i-0", "i-9"), now, Waits())
    uses = {each.service: each.count for each in found["i-0"].uses}  # type: ignore[union-attr]
    assert uses == {"ec2": 60, "s3": 1} and found["i-9"] == RoleUses(now - 90 * DAY)
    assert prod.count(LOOKUP) == 3
    prod.throttle(LOOKUP)
    assert isinstance(role_events(sees(live(prod)), ("i-0",), now, Waits())["i-0"], Unknown)
    prod.deny(LOOKUP)
    assert role_events(sees(live(prod)), ("i-0",), now, Waits())["i-0"].missing == LOOKUP  # type: ignore[union-attr]
    prod.hang_up(LOOKUP)
    assert isinstance(role_events(sees(live(prod)), ("i-0",), now, Waits())["i-0"], Unknown)


def test_iam_over_http(prod: World, now: datetime) -> None:
    iam = prod.client("iam")
    iam.create_role(RoleName="nodes", AssumeRolePolicyDocument="{}")
    arn = iam.create_instance_profile(InstanceProfileName="nodes")["InstanceProfile"]["Arn"]
    iam.add_role_to_instance_profile(InstanceProfileName="nodes", RoleName="nodes")
    prod.accessed(ROLE, {"s3": now - DAY, "sqs": None}, looks=2)
    prod.forget_calls()
    found = services_last_accessed(sees(live(prod)), (arn,), Waits())[arn]
    assert isinstance(found, RoleUses) and found.uses == (RoleUse("s3", now - DAY),)
    assert (prod.count(REPORT), prod.count(DETAILS)) == (1, 3)
    prod.accessed(ROLE, {}, fails="internal error")
    assert services_last_accessed(sees(live(prod)), (arn,), Waits())[arn] == Unknown(
        "IAM could not make its report: internal error"
    )
    for action in (PROFILE, REPORT, DETAILS):
        prod.allow()
        prod.deny(action)
        assert services_last_accessed(sees(live(prod)), (arn,), Waits())[arn].missing == action  # type: ignore[union-attr]
