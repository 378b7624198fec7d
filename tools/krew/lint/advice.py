"""What reviewers of krew-index ask for, beyond what any program refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.model.findings import Code
from tools.krew.lint import codes
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import PluginManifest
from tools.krew.lint.moving import ALL_OF_IT

SHORT_CUT = 50
"""Where ``krew search`` cuts (cmd/krew/cmd/search.go)."""
WIDEST = 80

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KUBE = re.compile(r"(kube|kubernetes|kubectl)(-|$)")
# fmt: off
_SHORT_NAMES = frozenset(
    (
        "cm", "cj", "cr", "crd", "csr", "deploy", "ds", "ep", "ev", "hpa", "ing", "limits", "netpol", "no", "ns", "pc",
        "pdb", "po", "pv", "pvc", "quota", "rc", "rs", "sa", "sc", "sts", "svc",
    )
)
# fmt: on
"""Of resources, as kubectl api-resources lists them."""
# fmt: off
_VENDORS = frozenset(
    (
        "aks", "alicloud", "aliyun", "aws", "azure", "do", "ecs", "eks", "gcp", "gke", "google", "ibm", "oci", "oke",
        "openshift", "vmware",
    )
)
# fmt: on
_EMPTY_WORDS = re.compile(r"\b(kubectl|krew|plugin)\b", re.IGNORECASE)
_USAGE = re.compile(r"\s*(\$\s|kubectl\s+\S|(usage|examples?)\s*:)", re.IGNORECASE)
_NEVER_SPLIT = re.compile(r"\S+")


def of_advice(manifest: PluginManifest) -> Iterator[Complaint]:
    yield from _of_name(manifest.name)
    yield from _of_short(manifest.short)
    yield from _of_description(manifest.description)
    if not re.match(r"https?://[^/\s]+", manifest.homepage):
        what = f"{quoted(manifest.homepage)} is no address" if manifest.homepage else "there is no homepage"
        yield _asked(codes.REVIEW_HOMEPAGE, "spec.homepage", what, "Give the address of the repository.")
    for i, platform in enumerate(manifest.platforms):
        at = f"spec.platforms[{i}]"
        if platform.files == ALL_OF_IT:
            yield _asked(codes.REVIEW_FILES, f"{at}.files", "it says what is so without it", "Leave files out.")
        yield from _of_uri(platform.uri, manifest.version, f"{at}.uri")
    for place in manifest.ignored:
        what = f"krew knows no {quoted(place)}, and passes it over"
        yield _asked(codes.FIELD_IGNORED, place, what, "Leave it out, or spell it as krew does.")


def _asked(code: Code, at: str, what: str, remedy: str) -> Complaint:
    return Complaint(code, at, what, remedy, advice=True)


def _of_name(name: str) -> Iterator[Complaint]:
    at, words = "metadata.name", name.lower().replace("_", "-").split("-")
    if name and not _KEBAB.fullmatch(name):
        yield _asked(
            codes.REVIEW_NAME, at, f"{quoted(name)} is not in lower case with hyphens", "Write it as view-logs."
        )
    if _KUBE.match(name):
        yield _asked(codes.REVIEW_NAME, at, "it begins with what kubectl says already", "Leave that away.")
    for word in words:
        if word in _SHORT_NAMES:
            what = f"{quoted(word)} is the short name of a resource"
            yield _asked(codes.REVIEW_NAME, at, what, "Write the resource's name.")
    if words[0] in _VENDORS or any(words[0].startswith(vendor) for vendor in ("aws", "eks", "gke", "azure")):
        what = f"{quoted(name)} begins with a vendor's name, which krew-index takes from that vendor alone"
        yield _asked(codes.REVIEW_NAME, at, what, "Take another name there, or an index of your own.")


def _of_short(short: str) -> Iterator[Complaint]:
    at = "spec.shortDescription"
    if len(short) > SHORT_CUT:
        what = f"it has {len(short)} characters, and krew search shows {SHORT_CUT}"
        yield _asked(codes.REVIEW_SHORT, at, what, f"Say it in {SHORT_CUT}.")
    if short.rstrip().endswith("."):
        yield _asked(codes.REVIEW_SHORT, at, "it ends with a full stop", "Leave it away.")
    empty = _EMPTY_WORDS.search(short)
    if empty:
        yield _asked(codes.REVIEW_SHORT, at, f"{quoted(empty.group())} says nothing here", "Leave the word away.")


def _of_description(text: str) -> Iterator[Complaint]:
    at = "spec.description"
    if not text.strip():
        yield _asked(codes.REVIEW_DESCRIPTION, at, "there is no description", "Say what it does, and for whom.")
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDEST and len(_NEVER_SPLIT.findall(line)) > 1:
            what = f"line {number} has {len(line)} characters, and is best read with {WIDEST}"
            yield _asked(codes.REVIEW_DESCRIPTION, at, what, f"Wrap it at {WIDEST}.")
        if _USAGE.match(line):
            yield _asked(
                codes.REVIEW_DESCRIPTION, at, f"line {number} is an example of use", "Leave that to the plugin's help."
            )


def _of_uri(uri: str, version: str, at: str) -> Iterator[Complaint]:
    if uri and not uri.startswith("https://"):
        yield _asked(codes.REVIEW_URI, at, f"{quoted(uri)} is not of https", "Serve the archive by https.")
    if uri and version and version.removeprefix("v") not in uri:
        what = f"it does not name {version}, so it may hold another one tomorrow"
        yield _asked(codes.REVIEW_URI, at, what, "Give the address of this very version.")
