"""Checks of a manifest that krew makes before it reads an archive (internal/index/validation/validate.go), and those of
its validator (cmd/validate-krew-manifest/main.go)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.model.findings import Code
from tools.krew.lint import codes
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import Platform, PluginManifest

API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
KIND = "Plugin"
ENDING = ".yaml"

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}
_SHA256 = re.compile(r"[a-f0-9]{64}")

# fmt: off
_BUILTIN = frozenset(
    (
        "alpha", "annotate", "api-resources", "api-versions", "apply", "attach", "auth", "autoscale", "certificate",
        "cluster-info", "completion", "config", "cordon", "cp", "create", "debug", "delete", "describe", "diff",
        "drain", "edit", "events", "exec", "explain", "expose", "get", "help", "kustomize", "label", "logs", "options",
        "patch", "plugin", "port-forward", "proxy", "replace", "rollout", "run", "scale", "set", "taint", "top",
        "uncordon", "version", "wait",
    )
)
# fmt: on
"""`kubectl help` of 1.33, and ``help`` itself."""

# k8s.io/apimachinery/pkg/util/version: versionMatchRE and extraMatchRE.
_VERSION = re.compile(r"v([0-9]+(?:\.[0-9]+)*)(.*)")
_EXTRA = re.compile(r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?[ \t\f\r]*")
_LARGEST = 2**64


def of_manifest(manifest: PluginManifest, file_name: str) -> Iterator[Complaint]:
    """`file_name`: without its folder."""
    for misfit in manifest.misfits:
        yield Complaint(codes.FIELD_TYPE, misfit.at, misfit.what, "Write it as krew's documentation does.")
    if manifest.api_version != API_VERSION:
        yield _differs(codes.API_VERSION, "apiVersion", manifest.api_version, API_VERSION)
    if manifest.kind != KIND:
        yield _differs(codes.KIND, "kind", manifest.kind, KIND)
    yield from _of_name(manifest.name, file_name)
    yield from _of_short(manifest.short)
    yield from _of_version(manifest.version)
    if not manifest.platforms:
        yield Complaint(codes.PLATFORMS, "spec.platforms", "there is no platform", "Name one for each archive.")
    for i, platform in enumerate(manifest.platforms):
        yield from _of_platform(platform, f"spec.platforms[{i}]")


def _differs(code: Code, at: str, found: str, wanted: str) -> Complaint:
    return Complaint(code, at, f"{at} is {quoted(found)}", f"Write {at}: {wanted}")


def _of_name(name: str, file_name: str) -> Iterator[Complaint]:
    at = "metadata.name"
    if not _NAME.fullmatch(name):
        yield Complaint(codes.NAME, at, f"{quoted(name)} is no name", "Take letters, digits and - of ASCII.")
    elif name.upper() in _DEVICES:
        yield Complaint(codes.NAME, at, f"{name} is a device of Windows", "Take another name.")
    elif name in _BUILTIN:
        what = f"kubectl {name} is a command of kubectl itself, and is never looked for among plugins"
        yield Complaint(codes.BUILTIN, at, what, "Take another name.")
    stem, dot, ending = file_name.rpartition(".")
    if f"{dot}{ending}" != ENDING:
        what = f"the file is called {quoted(file_name)}"
        yield Complaint(codes.FILE_NAME, "", what, f"Call it {name or 'NAME'}{ENDING}")
    if (stem or file_name) != name:
        what = f"the plugin is called {quoted(name)}, and its file {quoted(file_name)}"
        yield Complaint(
            codes.NAME_DIFFERS, at, what, f"Call the file {name or 'NAME'}{ENDING}, or the plugin otherwise."
        )


def _of_short(short: str) -> Iterator[Complaint]:
    at = "spec.shortDescription"
    if not short:
        yield Complaint(codes.SHORT, at, "there is no short description", "Say what it does in at most 50 characters.")
    elif "\r" in short or "\n" in short:
        yield Complaint(
            codes.SHORT, at, "it has a line break", "Write it in one line; a | before it adds a line break."
        )


def _of_version(version: str) -> Iterator[Complaint]:
    why = wrong_version(version)
    if why:
        yield Complaint(codes.VERSION, "spec.version", f"{quoted(version)} {why}", "Write it as v1.2.3 or v1.2.3-rc.1")


def wrong_version(text: str) -> str:
    """Why krew does not accept `text` as a version, "" where it does: internal/installation/semver, then ParseSemantic
    of k8s.io/apimachinery/pkg/util/version, which ignores space at the end."""
    if not text.startswith("v"):
        return "does not begin with a lower-case v" if text else "is no version: there is none"
    match = _VERSION.fullmatch(text)
    if match is None:
        return "is no version"
    numbers = match.group(1).split(".")
    if len(numbers) != 3:
        return "has not exactly three numbers"
    if any(_zero_led(number) for number in numbers):
        return "has a number with a zero before it"
    if any(len(number) > len(str(_LARGEST)) or int(number) >= _LARGEST for number in numbers):
        return "has a number that is too large"
    extra = _EXTRA.fullmatch(match.group(2))
    if extra is None:
        return "has something behind its numbers that is neither -rc.1 nor +build.1"
    if any(part.isdigit() and _zero_led(part) for part in (extra.group(1) or "").split(".")):
        return "has a number behind - with a zero before it"
    return ""


def _zero_led(number: str) -> bool:
    return len(number) > 1 and number.startswith("0")


def _of_platform(platform: Platform, at: str) -> Iterator[Complaint]:
    if not platform.uri:
        yield Complaint(codes.URI, f"{at}.uri", "there is no uri", "Give the address of the archive.")
    if not platform.bin:
        yield Complaint(codes.BIN, f"{at}.bin", "there is no bin", "Name the program in the archive.")
    if not _SHA256.fullmatch(platform.sha256):
        if _SHA256.fullmatch(platform.sha256.lower()):
            what, remedy = "it has upper-case letters", f"Write {platform.sha256.lower()}"
        else:
            what = f"{quoted(platform.sha256)} is no sha256" if platform.sha256 else "there is no sha256"
            remedy = "Write what sha256sum says of the archive."
        yield Complaint(codes.SHA256, f"{at}.sha256", what, remedy)
    if platform.files is not None:
        yield from _of_files(platform, f"{at}.files")


def _of_files(platform: Platform, at: str) -> Iterator[Complaint]:
    if not platform.files:
        yield Complaint(codes.FILES, at, "the list is empty", "Leave files out: then all of the archive is installed.")
    for i, move in enumerate(platform.files or ()):
        for name, text in (("from", move.origin), ("to", move.to)):
            if not text:
                yield Complaint(codes.FILES, f"{at}[{i}].{name}", f"there is no {name}", f"Give {name}.")
