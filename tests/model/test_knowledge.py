"""Each record of the package's knowledge files is readable, names its source, and exists once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, get_type_hints

import pytest

from kubectl_eksdoc.addon_diff.always_applied import AppliedPart
from kubectl_eksdoc.addon_diff.fields import FieldEffect
from kubectl_eksdoc.addon_diff.manifests import AddonManifest, RenderedAddon
from kubectl_eksdoc.addon_diff.past_update import RunningPodsRule
from kubectl_eksdoc.addon_diff.prediction import WritingTool
from kubectl_eksdoc.addon_diff.terraform_judging import DeletionLoss
from kubectl_eksdoc.amazon.addon_needs import CompatibilityTable, Software, VersionRequirement
from kubectl_eksdoc.amazon.amis import AmiFamilyInfo, KnownReleaseNote
from kubectl_eksdoc.amazon.interruption import EventKind, KarpenterChange
from kubectl_eksdoc.amazon.metadata_service import RecentFamily
from kubectl_eksdoc.amazon.removed_apis import CustomApi, ManualConversion, RemovedApi
from kubectl_eksdoc.amazon.sockets import Socket
from kubectl_eksdoc.amazon.versions import CalendarRow, RollbackCondition
from kubectl_eksdoc.amazon.written_kinds import ApiKinds, NoChangeNeeded
from kubectl_eksdoc.aws.addon_side import AddonChartValues, AddonChartVariable
from kubectl_eksdoc.check.symptoms import Causes
from kubectl_eksdoc.coredns_lameduck import shutdown
from kubectl_eksdoc.imds_probe.evidence import NodeRoleCalls
from kubectl_eksdoc.imds_probe.fix import FixRemark
from kubectl_eksdoc.imds_probe.programs import OTHER_CAUSE, ImdsNeed, LogLine, Program
from kubectl_eksdoc.kubernetes.corefile_grammar import PluginForm
from kubectl_eksdoc.kubernetes.drain_filters import CordonMark
from kubectl_eksdoc.model.kinds import Confidence
from kubectl_eksdoc.model.knowledge import (
    KnowledgeSource,
    RuleBasis,
    from_json,
    knowledge_file,
    records,
    sections,
    subjects,
)
from kubectl_eksdoc.model.quantities import Version
from tests.contracts.source import PACKAGE, files

Doc = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """The type of a file's records; `key`: the fields that identify a record."""

    of: type[Any]
    key: str
    sections: Mapping[str, type[Any]] = field(default_factory=dict)


SUBJECTS = {
    "api_kinds": Subject(ApiKinds, "trait"),
    "applied_fields": Subject(AppliedPart, "object part"),
    "chart_values": Subject(AddonChartValues, "addon version"),
    "chart_variables": Subject(AddonChartVariable, "addon name"),
    "corefile_plugins": Subject(PluginForm, "form"),
    "field_managers": Subject(WritingTool, "tool"),
    "hop_limit_rules": Subject(FixRemark, "rule"),
    "instance_families": Subject(RecentFamily, "family"),
    "interruption_events": Subject(EventKind, "name"),
    "karpenter_versions": Subject(KarpenterChange, "what"),
    "own_writers": Subject(NoChangeNeeded, "managers"),
    "rules": Subject(RuleBasis, "rule"),
    "rollback": Subject(RollbackCondition, "clause"),
    "runtime_sockets": Subject(Socket, "runtime"),
    "addon_manifests": Subject(AddonManifest, "addon version"),
    "amis": Subject(AmiFamilyInfo, "family"),
    "metadata_log_lines": Subject(LogLine, "text"),
    "node_role_calls": Subject(NodeRoleCalls, "service"),
    "calendar": Subject(CalendarRow, "version"),
    "cordon_marks": Subject(CordonMark, "key"),
    "custom_apis": Subject(CustomApi, "api_version kinds"),
    "removed_apis": Subject(RemovedApi, "api_version kind"),
    "conversions": Subject(ManualConversion, "kinds api_versions what"),
    "coredns_log_lines": Subject(shutdown.DnsLogSymptom, "parts"),
    "field_effects": Subject(FieldEffect, "fields", {"running": RunningPodsRule}),
    "release_notes": Subject(KnownReleaseNote, "id"),
    "symptoms": Subject(Causes, "symptom"),
    "software": Subject(
        Software,
        "name",
        {
            "applied": RenderedAddon,
            "deleted": DeletionLoss,
            "metadata": Program,
            "compatibility": CompatibilityTable,
            "needs": VersionRequirement,
        },
    ),
}


def faults(subject: Subject, told: Doc) -> Iterator[str]:
    """Errors in a file, one sentence for each, with the record's name."""
    yield from (f"the head has no {part}" for part in ("about", "source", "records") if part not in told)
    keys = [" ".join(str(each.get(part, "")) for part in subject.key.split()) for each in told["records"]]
    yield from (f"{key}: there are {count} records of it" for key, count in Counter(keys).items() if count > 1)
    for key, each in zip(keys, told["records"], strict=True):
        yield from (f"{key}: {part} is empty" for part in subject.key.split() if each.get(part) == "")
        whole = {name: value for name, value in each.items() if name not in subject.sections}
        yield from (f"{key}: {fault}" for fault in _faults(subject.of, whole, told["source"]))
        for name in subject.sections.keys() & each.keys():
            source = {**told["source"], **each["source"]}
            for part in each[name] if isinstance(each[name], list) else [each[name]]:
                beside = {"name": key, "images": each.get("images", []), "fields": each.get("fields", [])}
                shared = {field: beside[field] for field in beside if field in get_type_hints(subject.sections[name])}
                found = _faults(subject.sections[name], {**shared, **part}, source)
                yield from (f"{key}, {name}: {fault}" for fault in found)


def _faults(of: type[Any], told: Doc, beside: Doc) -> Iterator[str]:
    source = {**beside, **told.get("source", {})}
    lacking = [part for part in ("document", "read", "confidence") if not str(source.get(part) or "").strip()]
    yield from (f"its source has no {part} (give it one, or the file's head)" for part in lacking)
    hints = get_type_hints(of)
    lists = [name for name in told if hints.get(name) == tuple[str, ...]]
    yield from (f"{name} has an empty text" for name in lists if "" in told[name])
    try:
        record = from_json(of, {**told, "source": source})
    except (TypeError, ValueError, KeyError) as error:
        yield str(error)
        return
    if not FIRST_READ <= record.source.read <= datetime.now(timezone.utc).date():
        yield f"its source was read on {record.source.read}: before this tool was begun, or in the future"
    for row in record.rows if isinstance(record, CompatibilityTable) else ():
        if row.newest is not None and row.newest < row.oldest:
            yield f"a row of it goes from {row.oldest} to {row.newest}"


FIRST_READ = date(2026, 1, 1)


OWN = frozenset({"completion", "faults", "findings", "kept_keys", "keys", "rights"})
"""What the tool declares of itself: it has no source, and does not age."""


def test_every_file_is_read_by_somebody() -> None:
    assert {path.stem for path in (PACKAGE / "knowledge").glob("*.json")} == {*SUBJECTS, *OWN}
    assert set(subjects()) == set(SUBJECTS)


@pytest.mark.parametrize("name", SUBJECTS)
def test_its_records_are_whole(name: str) -> None:
    assert list(faults(SUBJECTS[name], knowledge_file(name))) == []


_GOOD = {"version": "1.14", "upstream": None, "released": "2019-09-04", "standard_ends": "2020-12-08"}
_GOOD |= {"extended_ends": None, "source": {"document": "EKS user guide"}}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"version": "new"}, "'new' is no version"),
        ({"relased": "2019-09-04"}, "CalendarRow has no field relased, but version, upstream, released"),
        ({"source": {}}, "its source has no document"),
        ({"source": {"document": "EKS user guide", "confidence": "sure"}}, "'sure' is none of"),
    ],
)
def test_a_fault_is_said_of_its_record(change: Doc, fault: str) -> None:
    told: Any = {"about": "", "source": {"read": "2026-11-20", "confidence": "high"}, "records": [{**_GOOD, **change}]}
    found = list(faults(SUBJECTS["calendar"], told))
    assert (
        (found == []) if not fault else (fault in found[0] and found[0].startswith(f"{(_GOOD | change)['version']}: "))
    )


def test_no_image_or_label_is_that_of_two() -> None:
    """Otherwise the first record would hide the second."""
    known = records(Software, "software")
    for told in ([image for each in known for image in each.images], [pair for each in known for pair in each.labels]):
        assert [each for each, count in Counter(told).items() if count > 1] == []


def test_the_values_of_variables_that_conditions_name_are_read() -> None:
    """Of all other variables only the names are kept, so that a condition on one would never hold."""
    conditions = (
        each for program in sections(Program, "software", "metadata") for mode in program.modes for each in mode.when
    )
    named = {
        each.partition("=")[0]
        for each in conditions
        if "=" in each and not each.startswith(("-", "!", "kind=", "version"))
    }
    assert named and named <= set(knowledge_file("kept_keys")["told"])


def test_each_variable_whose_value_is_read_is_one_that_something_is_judged_by() -> None:
    """An unused value may be a secret, and must not be read."""
    programs = [*sections(Program, "software", "metadata")]
    settings = {name for each in programs for need in ImdsNeed for name in each.given.names_for(need)}
    conditions = {
        when.removeprefix("!").partition("=")[0] for each in programs for mode in each.modes for when in mode.when
    }
    of_sdks = {"AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT"}
    assert set(knowledge_file("kept_keys")["told"]) - settings - conditions == of_sdks


def test_a_rule_and_its_record_are_there_together() -> None:
    """A record without a rule has no effect, and a rule without its record fails."""
    asked = {
        name for path in files(PACKAGE) for name in re.findall(r'basis\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    }
    # Those that stand in a list of several.
    asked |= {"al2023/metadata", "al2023/cgroup", "al2023/user-data", "support-price", "support-price/extended"}
    assert asked == {each.rule for each in records(RuleBasis, "rules")}


def test_what_a_log_line_lacks_is_one_of_what_is_judged() -> None:
    """Any other value would count as missing, although the log line names another cause."""
    judged = {OTHER_CAUSE, "credentials", "credentials or metadata", "metadata", "region", "vpc"}
    assert {each.lacks for each in records(LogLine, "metadata_log_lines")} == judged


def test_values_end_in_objects_of_their_addon() -> None:
    for addon in sections(RenderedAddon, "software", "applied"):
        assert {rule.of for rule in addon.values} <= {f"{each.kind} {each.name}" for each in addon.objects}


def test_a_record_has_what_the_head_says_of_all() -> None:
    (first, *_) = records(CalendarRow, "calendar")
    assert first.version == Version(1, 14)
    assert first.source == KnowledgeSource("EKS user guide git history", Confidence.MEDIUM, date(2026, 11, 20))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate names: JSON silently keeps the last of two values."""
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise ValueError(f"{', '.join(twice)}: twice in one object")
    return dict(pairs)


def test_no_object_has_a_name_twice() -> None:
    for path in (PACKAGE / "knowledge").glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    with pytest.raises(ValueError, match="status: twice in one object"):
        json.loads('{"texts": {"": {"status": "fail", "status": "pass"}}}', object_pairs_hook=_once)


def test_files_are_written_as_json_writes_them_in_lines() -> None:
    """A change of a record then changes only its own lines."""
    for name in SUBJECTS:
        text = (PACKAGE / "knowledge" / f"{name}.json").read_text(encoding="utf-8")
        assert (
            json.loads(text) == knowledge_file(name) and max(map(len, text.splitlines())) < 500 and text.endswith("}\n")
        )
