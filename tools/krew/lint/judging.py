"""The check of a manifest, and of its archives, by every rule of krew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When, sort_findings
from tools.krew.lint import codes, installing, manifests, selectors, unpacking
from tools.krew.lint.complaints import Complaint
from tools.krew.lint.model import Platform, PluginArchive, PluginManifest

_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class KrewLint:
    """`unchecked`: the numbers of platforms without a given archive. `link`: krew's link to the plugin, "" where it has
    no name."""

    manifest: PluginManifest
    findings: tuple[Finding, ...]
    unchecked: tuple[int, ...]
    link: str

    @property
    def fails(self) -> bool:
        return any(each.status is Status.FAIL for each in self.findings)


def judged(manifest: PluginManifest, file_name: str, archives: Sequence[PluginArchive]) -> KrewLint:
    """`file_name`: of the manifest, without its folder."""
    plugin = Subject("Plugin", manifest.name or file_name)
    found = list(_findings((*manifests.of_manifest(manifest, file_name), *selectors.of_selectors(manifest)), plugin))
    for archive in archives:
        found += _findings(unpacking.of_archive(archive), Subject("Archive", archive.name))
    unchecked = []
    for number in range(len(manifest.platforms)):
        looked_into, about = _of_platform(manifest, number, archives)
        found += _findings(about, Subject("Platform", str(number)))
        unchecked += [] if looked_into else [number]
    found += _findings(_of_nobody(manifest, archives), plugin)
    link = installing.link_name(manifest.name) if manifest.name else ""
    return KrewLint(manifest, sort_findings(found), tuple(unchecked), link)


def _of_platform(
    manifest: PluginManifest, number: int, archives: Sequence[PluginArchive]
) -> tuple[bool, list[Complaint]]:
    """Whether it has an archive, and its findings."""
    platform = manifest.platforms[number]
    at = f"spec.platforms[{number}]"
    complaints = list(installing.of_bin_path(platform, at))
    archive = _archive_of(platform, manifest, archives)
    if archive is None:
        return False, complaints
    if archive.sha256 != platform.sha256:
        what = f"{archive.name} has {archive.sha256}, and the manifest says {platform.sha256 or 'nothing'}"
        complaints.append(Complaint(codes.SUM, f"{at}.sha256", what, f"Write sha256: {archive.sha256}"))
    return True, [*complaints, *installing.of_installation(platform, at, archive)]


def _archive_of(
    platform: Platform, manifest: PluginManifest, archives: Sequence[PluginArchive]
) -> PluginArchive | None:
    """The archive with its checksum, else the one with the file name of its uri; where there is one of each, the
    former."""
    if len(archives) == len(manifest.platforms) == 1:
        return archives[0]
    by_sum = next((each for each in archives if each.sha256 == platform.sha256), None)
    called = platform.uri.partition("?")[0].rpartition("/")[2]
    return by_sum or next((each for each in archives if each.name == called), None)


def _of_nobody(manifest: PluginManifest, archives: Sequence[PluginArchive]) -> Iterator[Complaint]:
    """Archives that no platform names."""
    named = {found.sha256 for each in manifest.platforms if (found := _archive_of(each, manifest, archives))}
    for archive in archives:
        if archive.sha256 not in named:
            what = f"no platform has the checksum of {archive.name}, which is {archive.sha256}, or is called as it is"
            yield Complaint(codes.SUM, "spec.platforms", what, f"Write sha256: {archive.sha256} where it belongs.")


def _findings(complaints: Iterable[Complaint], of: Subject) -> Iterator[Finding]:
    yield from (_finding(each, of) for each in dict.fromkeys(complaints))


def _finding(complaint: Complaint, of: Subject) -> Finding:
    whose, source = codes.SOURCES[complaint.code]
    place = f"{_short(complaint.at)}: " if complaint.at and complaint.at not in complaint.what else ""
    return Finding(
        complaint.code,
        Severity.LOW if complaint.advice else Severity.HIGH,
        Status.PASS if complaint.advice else Status.FAIL,
        of,
        f"{place}{complaint.what}",
        (f"{whose.value}: {source}",),
        (Remedy(complaint.remedy, when=When.LATER if complaint.advice else When.NOW),),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
