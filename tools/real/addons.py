"""Updates of add-ons by a real API server, held against what addon-diff says before.

    make test-real KUBECONFIG=FILE ADDONS=300      that many random histories of vpc-cni, coredns and kube-proxy

For each history the public manifest of a version is applied as manager `eks`, users write to its objects by kubectl,
and the next version's manifest is applied as EKS does with NONE and OVERWRITE (dryRun=All, so nothing else changes).
What PRESERVE does is not documented: it is taken to leave out what is in conflict. It needs kubectl and a cluster
without these add-ons: their objects in kube-system are made and deleted. Exit code 1: where addon-diff passes, a user
loses something, or fewer than 99 % of the decided fields are right, or more than 5 % are unknown.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubectl_eksdoc.addon_diff.expected import leaves_of
from kubectl_eksdoc.addon_diff.fields import MISSING, Usage, value_at
from kubectl_eksdoc.addon_diff.manifests import (
    AddonManifests,
    NearestManifest,
    addon_manifests,
    build_document,
    is_possibly_same_image,
    known_manifests,
    objects_of,
)
from kubectl_eksdoc.addon_diff.plan import AddonPlan, plan_update
from kubectl_eksdoc.addon_diff.prediction import (
    AddonFacts,
    AddonUpdateRequest,
    AddonVersionFacts,
    Fate,
    Mode,
    changed_paths,
)
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.kube.single_objects import GETTABLE
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.document_diff import FieldSet, item_step, path_tree
from kubectl_eksdoc.kubernetes.document_diff import Path as FieldPath
from kubectl_eksdoc.kubernetes.field_paths import format_step
from kubectl_eksdoc.kubernetes.managed_fields import read_entries, without_entries
from kubectl_eksdoc.kubernetes.server_side_apply import merge, remove_fields
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from tools.real.run import Machine, Refused

_ADDONS = ("vpc-cni", "coredns", "kube-proxy")
_UNKNOWN = Unknown("not asked: there is no AWS")
_CLUSTER = EksCluster("real", "arn:aws:eks:eu-west-1:111122223333:cluster/real", "1.36", "", "ACTIVE", "", "")
_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_FIXED = ("f:selector", "f:roleRef", "f:clusterIP")
_UNLIKE = ("v1.18.4", "v1.20.1", "v1.22.0")
"""Their chart has another version in VPC_CNI_VERSION than their manifest."""
_MANAGERS = ("", "", "kubectl-edit", "argocd-controller", "helm", "eks")


@dataclass
class Score:
    """Mutable. `right`, `wrong`: decided fields in a mode; `passed`: cases that passed although a user loses a value;
    `quiet`: EKS's own fields that changed without a prediction."""

    right: int = 0
    unknown: list[str] = field(default_factory=list)
    quiet: int = 0
    histories: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def told(self) -> str:
        decided = self.right + len(self.wrong)
        counts = ", ".join(f"{count} of {addon}" for addon, count in sorted(self.histories.items()))
        lines = [f"UNKNOWN {each}" for each in self.unknown]
        lines += [f"WRONG {each}" for each in self.wrong] + [f"PASSED {each}" for each in self.passed]
        lines += [f"{sum(self.histories.values())} histories ({counts}), three modes"]
        lines += [f"decided fields right: {self.right} of {decided}; unknown: {len(self.unknown)}"]
        lines += [f"fields of EKS alone that change, and were not foretold: {self.quiet}"]
        return "\n".join([*lines, f"passed, and a user lost something: {len(self.passed)}"])

    @property
    def good(self) -> bool:
        decided = self.right + len(self.wrong)
        few = len(self.unknown) <= 0.05 * (decided + len(self.unknown))
        return not self.passed and self.right >= 0.99 * decided > 0 and few


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--context", default="")
    parser.add_argument("--histories", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    score = Score()
    with tempfile.TemporaryDirectory() as home:
        machine = Machine(args.kubeconfig, args.context, Path(home))
        with _eks(args.kubeconfig, args.context) as eks:
            for number in range(args.seed, args.seed + args.histories):
                _history(machine, eks, random.Random(number), score, str(number))
    print(score.told())
    return 0 if score.good else 1


class Eks:
    """It applies by HTTP, as EKS does; through ``kubectl proxy``, which has the credentials."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(self, method: str, of: ObjectName, query: str = "", body: Doc | None = None) -> tuple[int, Doc]:
        kind = "application/apply-patch+yaml" if body is not None else "application/json"
        path = f"{GETTABLE[of.kind].path_in(of.namespace)}/{of.name}{query}"
        self._connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind})
        answer = self._connection.getresponse()
        doc: Doc = json.loads(answer.read())
        return answer.status, doc


@contextmanager
def _eks(kubeconfig: str, context: str) -> Iterator[Eks]:
    words = ["kubectl", "--kubeconfig", kubeconfig, *(["--context", context] if context else []), "proxy", "--port=0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        try:
            yield Eks(int(proxy.stdout.readline().rpartition(":")[2]))
        finally:
            proxy.terminate()


def _pair(chance: random.Random, addon: str) -> tuple[str, str]:
    """Versions whose name in EKS is known, the newer one up to three steps further."""
    versions = [each.version for each in known_manifests(addon) if each.version not in _UNLIKE]
    at = chance.randrange(len(versions))
    pair = versions[at], versions[min(at + chance.randint(1, 3), len(versions) - 1)]
    now, target = (each if "eksbuild" in each else f"{each}-eksbuild.1" for each in pair)
    return now, target


def _history(machine: Machine, eks: Eks, chance: random.Random, score: Score, name: str) -> None:
    addon = chance.choice(_ADDONS)
    now, target = _pair(chance, addon)
    known = addon_manifests(addon, now, target, True)
    assert known is not None
    live: dict[ObjectName, Doc] = {}
    for of in objects_of(addon):
        eks("DELETE", of)
        if known.current.fields_of(of):
            status, said = eks("PATCH", of, "?fieldManager=eks&force=true", _doc(of, known.current))
            assert status < 300, said
            live[of] = {}
    for _ in range(chance.randint(1, 6)):
        of = chance.choice(list(live))
        _write(machine, chance, of, known.current, eks("GET", of)[1])
    for of in live:
        live[of] = eks("GET", of)[1]
    sides = [AddonVersionFacts(each, chart_defaults(addon, each), _UNKNOWN) for each in (now, target)]
    facts = AddonFacts(
        _CLUSTER, Addon(addon, now, "ACTIVE"), sides[0], sides[1], {}, tuple(live.values()), (), Usage(())
    )
    answers = {
        mode: {of: _applied(eks, of, _doc(of, known.target), mode) for of in live if known.target.fields_of(of)}
        for mode in Mode
    }
    for mode in Mode:
        plan = plan_update(facts, AddonUpdateRequest(mode), lambda values: ())
        _compared(f"{name} {addon} {now} → {target} {mode.value}", plan, known, live, answers[mode], score)
    score.histories[addon] += 1


def _doc(of: ObjectName, known: NearestManifest) -> Doc:
    place = schema_of(of.api_version, of.kind).root
    made = merge(_identity(of), build_document(known.fields_of(of)), place)
    if of.kind != "DaemonSet" or of.name != "kube-proxy":
        return made
    image = {"name": of.name, "image": f"602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/kube-proxy:{known.version}"}
    return merge(made, {"spec": {"template": {"spec": {"containers": [image]}}}}, place)


def _identity(of: ObjectName) -> Doc:
    where = {"name": of.name, **({"namespace": of.namespace} if of.namespace else {})}
    return {"apiVersion": of.api_version, "kind": of.kind, "metadata": where}


def _kind(of: ObjectName) -> str:
    group = of.api_version.partition("/")[0] if "/" in of.api_version else ""
    return f"{of.kind}.{group}" if group else of.kind


def _in(of: ObjectName) -> tuple[str, ...]:
    return ("-n", of.namespace) if of.namespace else ()


@dataclass(frozen=True, slots=True)
class _Answer:
    """The server's answer: the resulting object, or fields in conflict (as EKS names them), or the refusal of an
    invalid result (`invalid`)."""

    doc: Doc | None
    conflicts: tuple[str, ...] = ()
    invalid: str = ""


def _applied(eks: Eks, of: ObjectName, doc: Doc, mode: Mode) -> _Answer:
    schema = schema_of(doc["apiVersion"], doc["kind"])
    force = str(mode is Mode.OVERWRITE).lower()
    status, said = eks("PATCH", of, f"?fieldManager=eks&dryRun=All&force={force}", doc)
    if status < 300:
        return _Answer(said)
    if status != 409:
        return _Answer(None, invalid=str(said.get("message")))
    found = tuple(each["field"] for each in said["details"]["causes"])
    paths = [path for path in leaves_of(doc, schema) if mode is Mode.PRESERVE and _shown(path) in found]
    if not paths:
        return _Answer(None, found)
    for path in paths:
        doc = remove_fields(doc, FieldSet(path_tree(path)), schema.root)
    return _applied(eks, of, doc, mode)


def _shown(path: FieldPath) -> str:
    return "".join(format_step(step) for step in path)


def _plain(doc: Doc) -> Doc:
    found = without_entries(doc)
    meta = {key: value for key, value in found["metadata"].items() if key not in _SERVERS}
    notes = {key: value for key, value in meta.pop("annotations", {}).items() if "deprecated." not in key}
    return {**{key: each for key, each in found.items() if key != "status"}, "metadata": {**meta, "annotations": notes}}


def _compared(
    name: str,
    plan: AddonPlan,
    known: AddonManifests,
    live: dict[ObjectName, Doc],
    answers: dict[ObjectName, _Answer],
    score: Score,
) -> None:
    mode, loses = plan.request.mode, False
    for prediction in plan.predictions:
        of = prediction.object_ref
        answer = answers.get(of)
        if answer is None:
            continue
        schema = schema_of(of.api_version, of.kind)
        users = _of_users(live[of], known.current.fields_of(of), schema)
        told = {each.field.path: each for each in prediction.changes}
        maybe = {each.path for each in (*prediction.shared, *prediction.may_return)}
        if answer.doc is None:
            loses = True
            if answer.invalid:
                right = mode in prediction.refused
                score.right += right
                score.wrong += [] if right else [f"{name} {of}: not foretold: {answer.invalid[:300]}"]
                continue
            said = {_shown(path): each for path, each in told.items()}
            for conflict in answer.conflicts:
                fate = said[conflict].fate(mode) if conflict in said else None
                _count(score, fate, fate is Fate.CONFLICT, f"{name} {of} {conflict}: conflict, foretold {fate}")
            for text, each in said.items():
                if each.fate(mode) is Fate.CONFLICT and text not in answer.conflicts:
                    score.wrong.append(f"{name} {of} {text}: no conflict")
            continue
        if mode in prediction.refused:
            score.wrong.append(f"{name} {of}: taken, and foretold as refused")
            continue
        before, after = _plain(live[of]), _plain(answer.doc)
        changed = set(changed_paths(before, after, schema))
        for path in {*changed, *(path for path, each in told.items() if each.at_risk)}:
            there = value_at(after, path, schema.root)
            loses |= path in changed and path in users
            change = told.get(path)
            if change is None and path not in users:
                score.quiet += 1  # fields of EKS, which no user loses
                continue
            if change is None:
                expected = Fate.UNKNOWN if path in maybe else None
                _count(score, expected, False, f"{name} {of} {_shown(path)}: changed, not foretold")
                continue
            foretold = change.by_mode[mode]
            right = foretold.value == there or is_possibly_same_image(there, foretold.value)
            right = right or (foretold.value is MISSING and there in (MISSING, "", None, {}, []))
            _count(score, foretold.fate, right, f"{name} {of} {_shown(path)}: {foretold} and it is {there!r}")
    if loses and all(each.status is Status.PASS for each in plan.findings):
        score.passed.append(name)


def _count(score: Score, fate: Fate | None, right: bool, text: str) -> None:
    if fate is Fate.UNKNOWN:
        score.unknown.append(text)
    elif right:
        score.right += 1
    else:
        score.wrong.append(text)


def _of_users(live: Doc, values: Any, schema: Schema) -> set[FieldPath]:
    """Fields that users have set, emptied or removed."""
    owned = {path for owner, entry in read_entries(live).items() if owner.manager != "eks" for path in entry.fields}
    owned |= {
        p for o, e in read_entries(live).items() if o.manager == "eks" and o.operation == "Update" for p in e.fields
    }
    return owned | {path for path in values if value_at(live, path, schema.root) is MISSING}


def _write(machine: Machine, chance: random.Random, of: ObjectName, known: NearestManifest, live: Doc) -> None:
    """One write of a user, which the server may refuse."""
    schema = schema_of(of.api_version, of.kind)
    path = chance.choice([each for each in known.fields_of(of) if not set(_FIXED) & set(each)])
    value = value_at(live, path, schema.root)
    mine = _altered(chance, path, known.fields_of(of)[path] if value is MISSING else value)
    part = merge(_identity(of), build_document({path: mine}), schema.root)
    whole = merge(live, part, schema.root)
    plain = {**_plain(whole), "metadata": {k: v for k, v in whole["metadata"].items() if k not in _SERVERS}}
    manager = chance.choice(_MANAGERS)
    named = (f"--field-manager={manager}",) if manager else ()
    target = (_kind(of), of.name, *_in(of))
    pointer = _pointer(live, path, schema)
    env = [step for step in path if step.startswith("k:") and path[path.index(step) - 1] == "f:env"]
    ways: list[tuple[tuple[str, ...], Any]] = [
        (("apply", "--server-side", "--force-conflicts", f"--field-manager={manager or 'ops'}", "-f", "-"), part),
        (("replace", *named, "-f", "-"), plain),
        (("apply", *named, "-f", "-"), plain),
        (("label", *target, *named, "--overwrite", f"team={chance.choice('abc')}"), None),
        (("annotate", *target, *named, "--overwrite", f"prometheus.io/port={chance.randint(1, 99)}"), None),
    ]
    if pointer:
        one = [{"op": "replace", "path": pointer, "value": mine}]
        gone = [{"op": "remove", "path": pointer}]
        patch = ("patch", *target, *named, "--type=json", "-p")
        ways += [((*patch, json.dumps(each)), None) for each in (one, gone, gone)]
    if env:
        name = json.loads(env[0][2:])["name"]
        for text in (f"{name}=mine", f"{name}=", f"{name}-", "OWN=1"):
            ways.append((("set", "env", f"{of.kind.lower()}/{of.name}", *_in(of), *named, text), None))
    words, give = chance.choice(ways)
    try:
        machine.kubectl(*words, give=give)
    except Refused:
        return  # a value that is invalid in that field


def _altered(chance: random.Random, path: FieldPath, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.randint(1, 3)
    if path[-1] == "f:image":
        return f"example.com/own:{chance.randint(1, 3)}"
    if isinstance(value, list):
        return value[:-1] if value and chance.random() < 0.5 else [*value, *value[:1]]
    return value if isinstance(value, dict) else "mine"


def _pointer(doc: Any, path: FieldPath, schema: Schema) -> str:
    """RFC 6901, "" where the field is absent."""
    place, text = schema.root, ""
    for step in path:
        if isinstance(doc, dict) and step.startswith("f:") and step[2:] in doc:
            name = step[2:]
            text += "/" + name.replace("~", "~0").replace("/", "~1")
            doc, place = doc[name], place.under(name)
        elif isinstance(doc, list) and (found := [at for at, item in enumerate(doc) if item_step(item, place) == step]):
            text += f"/{found[0]}"
            doc, place = doc[found[0]], place.item_place()
        else:
            return ""
    return text


if __name__ == "__main__":
    sys.exit(main())
