"""A cluster gives the same facts for every form of its dump."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.objects.single import RawObjects
from tests.host import dumps


def read(path: Path | str) -> Cluster:
    return DumpReader(str(path)).read(kinds.ALL)


@cache
def recorded(name: str) -> Cluster:
    return read(dumps.archive(name))


def facts(cluster: Cluster) -> Cluster:
    """The facts that are the same in every form: a mixed List does not show which empty kinds were requested."""
    return replace(cluster, reads=tuple(r for r in cluster.reads if r.count))


FORMS = ("folder", "folder-gz", "mixed", "mixed-compact", "mixed-gz", "mixed-marked", "raw", "tar", "tgz-gz")


@pytest.mark.parametrize("name", ["small-traps", pytest.param("rich", marks=pytest.mark.long)])
def test_every_form_gives_equal_facts(name: str, tmp_path: Path) -> None:
    expected = facts(recorded(name))
    lists = dumps.lists_of(name)
    assert [len(expected.nodes), len(expected.pods)] == [len(lists[kind]["items"]) for kind in ("nodes", "pods")]
    differing = [form for form in FORMS if facts(read(in_form(form, lists, tmp_path / form))) != expected]
    assert differing == []


def in_form(form: str, lists: dumps.Lists, path: Path) -> Path:
    path.mkdir()
    printed = {f"{stem}.json": dumps.as_kubectl(listed) for stem, listed in lists.items()}
    if form == "folder":
        return dumps.folder(path, {f"deep/{name}": data for name, data in printed.items()})
    if form == "folder-gz":
        return dumps.folder(path, {f"{name}.gz": dumps.gz(data) for name, data in printed.items()})
    if form == "raw":
        return dumps.folder(path, {f"{i}.json": dumps.compact(dumps.as_raw(v)) for i, v in enumerate(lists.values())})
    single = {
        "mixed": lambda: dumps.as_kubectl(dumps.mixed(lists)),
        "mixed-compact": lambda: dumps.compact(dumps.mixed(lists)),
        "mixed-marked": lambda: b"\xef\xbb\xbf" + dumps.compact(dumps.mixed(lists)),
        "mixed-gz": lambda: dumps.gz(dumps.as_kubectl(dumps.mixed(lists))),
        "tar": lambda: dumps.tar_of(printed),
        "tgz-gz": lambda: dumps.tar_of({f"../x/{n}.gz": dumps.gz(d) for n, d in printed.items()}, "w:gz"),
    }
    target = path / "dump"  # no ending: the content decides
    target.write_bytes(single[form]())
    return target


@pytest.mark.parametrize(("name", "seed"), [("small-traps", 0), pytest.param("rich", 2, marks=pytest.mark.long)])
def test_the_order_of_keys_and_files_does_not_matter(name: str, seed: int, tmp_path: Path) -> None:
    """Sorted keys may put the kind after the items; then the reader reads a part twice."""
    chance = random.Random(seed)
    lists = dumps.lists_of(name)
    texts = []
    for listed in lists.values():
        shuffled = shuffle(dumps.as_raw(listed) if chance.random() < 0.8 else listed, chance)
        texts.append(json.dumps(shuffled, indent=chance.choice([None, 0, 1, 7])).encode())
    chance.shuffle(texts)
    cut = chance.randrange(len(texts))
    files = {"a.json": b"\n".join(texts[:cut]) or b'{"items":[]}', "b.json": b"".join(texts[cut:])}
    expected = facts(recorded(name))
    (tmp_path / "x.tar").write_bytes(dumps.tar_of(files))
    assert facts(read(tmp_path / "x.tar")) == expected
    assert facts(read(dumps.folder(tmp_path / "f", files))) == expected


def shuffle(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        pairs = [(k, shuffle(v, chance)) for k, v in value.items()]
        chance.shuffle(pairs)
        return dict(pairs)
    if isinstance(value, list):
        return [shuffle(v, chance) for v in value]
    return value


def test_sorted_keys_of_a_raw_list_from_a_pipe_are_refused_with_advice(tmp_path: Path) -> None:
    pods = json.dumps(dumps.as_raw(dumps.lists_of("small-traps")["pods"]), sort_keys=True).encode()
    with pytest.raises(SnapshotError, match="names its kind only after its items"):
        read(piped(tmp_path, pods))


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    data = dumps.archive("small-traps").read_bytes()
    assert read(piped(tmp_path, data)) == recorded("small-traps")


def piped(path: Path, data: bytes) -> Path:
    pipe = path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            pipe.write_bytes(data)
        except BrokenPipeError:
            return

    threading.Thread(target=write, daemon=True).start()
    return pipe


def test_what_was_held_and_what_was_not(tmp_path: Path) -> None:
    files = {
        "dump.json": dumps.compact(dumps.a_small_dump()),
        "jobs.json": dumps.as_kubectl(dumps.a_list()),
        "hpa.json.gz": dumps.gz(dumps.as_kubectl(dumps.a_list())),
        "deployments.apps.json": dumps.as_kubectl(dumps.a_list()),
        "x.json": b'{"kind":"ServiceList","apiVersion":"v1","metadata":{},"items":null}',
        "customresourcedefinitions.json": dumps.as_kubectl(
            dumps.a_list(dumps.an_object("CustomResourceDefinition", "nodepools.karpenter.sh", spec={}))
        ),
    }
    path = dumps.folder(tmp_path, files)
    cluster = read(path)
    held = {r.resource for r in cluster.reads if r.state is ReadState.READ}
    assert held == {
        *(kinds.NODES, kinds.PODS, kinds.BUDGETS),
        *(kinds.JOBS, kinds.AUTOSCALERS, kinds.DEPLOYMENTS, kinds.SERVICES),
    }
    assert cluster.read_of(kinds.TARGET_GROUP_BINDINGS).state is ReadState.NOT_SERVED
    assert cluster.read_of(kinds.NODE_POOLS) == KindRead(
        kinds.NODE_POOLS, ReadState.NOT_HELD, 0, "the snapshot has no nodepools"
    )
    assert cluster.read_of(kinds.CLAIMS).state is ReadState.NOT_HELD
    assert len(cluster.reads) == len(kinds.ALL)
    assert DumpReader(str(path)).read((kinds.DEFINITIONS,)).reads[0].state is ReadState.READ


def test_kinds_of_the_same_name_in_another_group_are_somebody_elses(tmp_path: Path) -> None:
    dump = dumps.a_small_dump()
    foreign = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": 7}, "spec": 1}
    dump["items"].append(foreign)
    cluster = read(dumps.folder(tmp_path, {"d.json": dumps.compact(dump)}))
    assert cluster.services == () and not cluster.invalid_entries
    assert [cluster.read_of(each).state for each in (kinds.SERVICES, kinds.NODE_POOLS)] == [ReadState.NOT_HELD] * 2


def test_objects_of_other_kinds_are_kept_as_they_are(tmp_path: Path) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"}}
    lists = {**dumps.lists_of("small-traps"), "configmaps": {"kind": "List", "apiVersion": "v1", "items": [settings]}}
    raw = RawObjects()
    path = dumps.folder(tmp_path, {f"{stem}.json": dumps.compact(held) for stem, held in lists.items()})
    cluster = DumpReader(str(path), raw=raw).read(kinds.ALL)
    kept = [doc for doc in raw.documents() if doc["kind"] == "ConfigMap"]
    assert kept == [settings]
    assert sum(1 for doc in raw.documents() if doc["kind"] == "Pod") == len(cluster.pods)


def test_an_object_that_is_dumped_twice_is_kept_once_with_a_note(tmp_path: Path) -> None:
    small = dumps.a_small_dump()
    files = {"a.json": dumps.compact(small), "b.json": dumps.as_kubectl(small)}
    once = read(dumps.folder(tmp_path / "1", {"a.json": files["a.json"]}))
    twice = read(dumps.folder(tmp_path / "2", files))
    assert (twice.pods, twice.nodes) == (once.pods, once.nodes)
    pod_notes = [n for n in twice.notes if "Pod" in n and "PodDisruptionBudget" not in n]
    assert len(pod_notes) == 1
    assert pod_notes[0].startswith("2 Pods in ")
    assert pod_notes[0].endswith("b.json: kept once")


def test_pages_of_one_list_are_joined_and_a_missing_page_is_told(tmp_path: Path) -> None:
    small = dumps.a_small_dump()
    service = dumps.as_raw(dumps.a_list(dumps.an_object("Service", "a", "shop")))
    last = dumps.as_raw(dumps.a_list(dumps.an_object("Service", "b", "shop")))
    service["metadata"] = {"continue": "token", "remainingItemCount": 1}
    files = {"d.json": dumps.compact(small), "s1.json": dumps.compact(service)}
    cut = read(dumps.folder(tmp_path / "cut", files))
    assert cut.read_of(kinds.SERVICES) == KindRead(
        kinds.SERVICES,
        ReadState.FAILED,
        1,
        "its list of services has a continue token, so pages are missing, 1 objects more",
    )
    whole = read(dumps.folder(tmp_path / "whole", {**files, "s2.json": dumps.compact(last)}))
    assert whole.read_of(kinds.SERVICES) == KindRead(kinds.SERVICES, ReadState.READ, 2)


def test_other_json_in_a_folder_is_passed_over_with_a_note(tmp_path: Path) -> None:
    files = {
        "d.json": dumps.compact(dumps.a_small_dump()),
        "info.json": b'{"kind":"ClusterInfo","apiVersion":"v1"}',
        "._d.json": b"\x00\x05\x16\x07 what macOS adds",
        "readme.txt": b"not JSON",
    }
    cluster = read(dumps.folder(tmp_path, files))
    assert cluster.notes[-1] == f"{tmp_path / 'info.json'} was skipped: it is a single ClusterInfo, not a List"


def test_a_dash_is_standard_input() -> None:
    code = (
        "from kubectl_eksdoc.host.dump import DumpReader\n"
        "from kubectl_eksdoc.model import kinds\n"
        "print(len(DumpReader('-').read(kinds.ALL).pods))"
    )
    data = dumps.gz(dumps.as_kubectl(dumps.a_small_dump()))
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, input=data, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"2\n", b"")


COUNTS = {
    # nodes, pods, budgets, Deployments, StatefulSets, DaemonSets: data/clusters' own description
    "small-traps": (12, 131, 25, 26, 4, 1),
    "medium": (120, 1886, 302, 322, 78, 1),
    "rich": (18, 348, 43, 57, 7, 5),
}


@pytest.mark.parametrize("name", ["small-traps", "rich", pytest.param("medium", marks=pytest.mark.long)])
def test_counts_of_the_recorded_clusters(name: str) -> None:
    cluster = recorded(name)
    workloads = dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet"), 0)
    for each in cluster.workloads:
        if each.kind in workloads:
            workloads[each.kind] += 1
    counts = (len(cluster.nodes), len(cluster.pods), len(cluster.budgets), *workloads.values())
    assert counts == COUNTS[name]
    assert cluster.source is Source.SNAPSHOT
    assert cluster.notes == ()
    if name == "rich":
        assert cluster.identity == Identity(region="ap-northeast-2", uid="ece6d4f1-607e-4fc5-8fb5-2f40b39d898e")
        assert cluster.observed_at.isoformat() == "2026-11-20T08:50:30.135084+00:00"
