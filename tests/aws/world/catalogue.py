"""The offer of EKS: add-on versions, their configuration schemas, Kubernetes versions; from tests/data/aws/eks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data" / "aws" / "eks"


@cache
def _read(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@dataclass
class Offer:
    """One version of an add-on. `schema`: the JSON document, or "" where none is known. Mutable."""

    addon: str
    version: str
    clusters: tuple[str, ...]
    default_for: tuple[str, ...] = ()
    schema: str = ""
    kind: str = "networking"
    namespace: str = "kube-system"


@dataclass
class Catalogue:
    """The versions that the region offers, newest first; a test may add more. Mutable.

    `today` decides which support a Kubernetes version has; `as_of` makes every date as far away as it was then.
    """

    offers: list[Offer] = field(default_factory=lambda: list(_shipped()))
    today: date = date(2026, 11, 20)
    later: timedelta = timedelta()

    def as_of(self, then: date) -> None:
        self.today, self.later = then, datetime.now(timezone.utc).date() - then

    def of(self, addon: str) -> list[Offer]:
        return [offer for offer in self.offers if offer.addon == addon]

    def find(self, addon: str, version: str) -> Offer | None:
        return next((offer for offer in self.of(addon) if offer.version == version), None)

    def default(self, addon: str, cluster_version: str) -> Offer | None:
        """The version that EKS uses if none is named: the default, or else the newest compatible one."""
        fitting = [offer for offer in self.of(addon) if cluster_version in offer.clusters]
        return next((offer for offer in fitting if cluster_version in offer.default_for), next(iter(fitting), None))

    def described(self, addon: str | None, cluster_version: str | None) -> list[dict[str, Any]]:
        """AddonInfo of each add-on, by name; versions and compatibilities are those for `cluster_version` if given."""
        found = []
        for name in sorted({offer.addon for offer in self.offers if addon in (None, offer.addon)}):
            offers = self.of(name)
            fitting = [offer for offer in offers if cluster_version is None or cluster_version in offer.clusters]
            if not fitting:
                continue
            found.append(
                {
                    "addonName": name,
                    "type": offers[0].kind,
                    "publisher": "eks",
                    "owner": "aws",
                    "defaultNamespace": offers[0].namespace,
                    "addonVersions": [_version(offer, cluster_version) for offer in fitting],
                }
            )
        return found

    def cluster_versions(self) -> list[dict[str, Any]]:
        """ClusterVersionInformation of all versions that EKS has had, newest first."""
        rows = list(reversed(_read("cluster-versions.json")))
        newest = rows[0]["version"]
        return [self._cluster_version(row, row["version"] == newest) for row in rows]

    def _cluster_version(self, row: dict[str, str], default: bool) -> dict[str, Any]:
        standard, extended = date.fromisoformat(row["endOfStandard"]), date.fromisoformat(row["endOfExtended"])
        over = (self.today >= standard) + (self.today >= extended)
        return {
            "clusterVersion": row["version"],
            "clusterType": "eks",
            "defaultPlatformVersion": "eks.1",
            "defaultVersion": default,
            "releaseDate": _midnight(row["released"]) + self.later,
            "endOfStandardSupportDate": _midnight(row["endOfStandard"]) + self.later,
            "endOfExtendedSupportDate": _midnight(row["endOfExtended"]) + self.later,
            "status": ("standard-support", "extended-support", "unsupported")[over],
            "versionStatus": ("STANDARD_SUPPORT", "EXTENDED_SUPPORT", "UNSUPPORTED")[over],
            "kubernetesPatchVersion": f"{row['version']}.0",
        }


def _shipped() -> Iterator[Offer]:
    for name, addon in _read("addons.json").items():
        for row in addon["versions"]:
            yield Offer(
                name,
                row["addonVersion"],
                tuple(row["clusterVersions"]),
                tuple(row["defaultFor"]),
                _schema(f"schemas/{name}_{row['addonVersion']}.json"),
                addon["type"],
                addon["defaultNamespace"],
            )


@cache
def _schema(name: str) -> str:
    return json.dumps(_read(name), separators=(",", ":")) if (DATA / name).exists() else ""


def _version(offer: Offer, cluster_version: str | None) -> dict[str, Any]:
    clusters: Iterable[str] = [v for v in offer.clusters if cluster_version in (None, v)]
    return {
        "addonVersion": offer.version,
        "architecture": ["amd64", "arm64"],
        "computeTypes": ["ec2", "fargate"] if offer.addon == "coredns" else ["ec2"],
        "compatibilities": [
            {"clusterVersion": v, "platformVersions": ["*"], "defaultVersion": v in offer.default_for} for v in clusters
        ],
        "requiresConfiguration": False,
        "requiresIamPermissions": offer.addon == "vpc-cni",
    }


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=timezone.utc)
