"""What programs print that get nothing from the instance metadata service: as data, each with where it comes from.

A line of these says that credentials, a region or a VPC were looked for and not found; that the metadata service is why
follows only together with a node on which the pod does not reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.rules.keeping.secrets import hidden


@dataclass(frozen=True, slots=True)
class Symptom:
    """`text` is part of a line, as printed; `lacks` what was not had; `source`: who prints it."""

    text: str
    lacks: str
    source: str


_CREDENTIALS, _REGION, _VPC, _ANY = "credentials", "its region", "the id of its VPC", "an answer"

SYMPTOMS = (
    Symptom("failed to introspect region from EC2Metadata", _REGION, "aws-load-balancer-controller, pkg/aws/cloud.go"),
    Symptom("failed to introspect vpcID from EC2Metadata", _VPC, "aws-load-balancer-controller, pkg/aws/cloud.go"),
    Symptom("failed to get VPC ID", _VPC, "aws-load-balancer-controller, pkg/aws/cloud.go"),
    Symptom("failed to fetch VPC ID from instance metadata", _VPC, "aws-load-balancer-controller, pkg/aws/cloud.go"),
    Symptom("no EC2 IMDS role found", _CREDENTIALS, "AWS SDK for Go v2, credentials/ec2rolecreds"),
    Symptom("operation error ec2imds:", _ANY, "AWS SDK for Go v2, feature/ec2/imds"),
    Symptom("EC2RoleRequestError: no EC2 instance role found", _CREDENTIALS, "AWS SDK for Go v1, ec2rolecreds"),
    Symptom("EC2MetadataRequestError", _ANY, "AWS SDK for Go v1, aws/ec2metadata"),
    Symptom("EC2MetadataError", _ANY, "AWS SDK for Go v1, aws/ec2metadata"),
    Symptom("NoCredentialProviders: no valid providers in chain", _CREDENTIALS, "AWS SDK for Go v1, aws/credentials"),
    Symptom("Unable to load credentials from any of the providers in the chain", _CREDENTIALS, "AWS SDK for Java 2"),
    Symptom("Unable to load AWS credentials from any provider in the chain", _CREDENTIALS, "AWS SDK for Java 1"),
    Symptom("Failed to load credentials from IMDS", _CREDENTIALS, "AWS SDK for Java 2"),
    Symptom("Unable to load region from any of the providers in the chain", _REGION, "AWS SDK for Java 2"),
    Symptom("Unable to locate credentials", _CREDENTIALS, "botocore, NoCredentialsError"),
    Symptom("Could not load credentials from any providers", _CREDENTIALS, "AWS SDK for JavaScript 3"),
    Symptom("169.254.169.254", _ANY, "any program that prints the address of its request"),
)
"""The plainest last: the first one that is found in a line is what it says."""


@dataclass(frozen=True, slots=True)
class Seen:
    """`line` is the last one that says so, without what surrounds it, and without credentials that a program prints."""

    symptom: Symptom
    line: str


LONGEST = 300
_SAID_WELL = ("200 OK", '"status":200')


def last_symptom(log: str) -> Seen | None:
    """The last line of a log that tells one; None if none does."""
    found = None
    for line, symptom in _told(log):
        found = Seen(symptom, line)
    return found


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log."""
    return next(_told(line), None) is not None


def _told(log: str) -> Iterator[tuple[str, Symptom]]:
    for line in log.splitlines():
        symptom = next((each for each in SYMPTOMS if each.text.lower() in line.lower()), None)
        if symptom is not None and not any(well in line for well in _SAID_WELL):
            yield hidden(line.strip())[:LONGEST], symptom
