"""Replay sets: whole estates, applied to an operator in front of a recording of Azure.

`hack/replay` prints the result of each, and `tests/parity/test_replay.py` asserts it.
The sets and the recordings are read from the data folder, never from the project.
"""

import base64
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import attrs
from operation import Operation

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, gvk_of, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    SECRETS,
)
from asoreconcile.testing.replay import Asked, RecordedExchange, ReplayServer, Summary
from asoreconcile.testing.replay.script import fewest_requests, script_of

RECORDINGS = "recordings-dev.tar.xz"
POLICY = "serviceoperator.azure.com/reconcile-policy"
_CORE = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}


@attrs.frozen
class ReplaySet:
    """One file of the folder, in the form that the folder's README describes."""

    name: str
    manifests: tuple[JsonObject, ...]
    expected_puts: JsonObject
    expected_exports: JsonObject
    aso_requests: dict[str, int]
    no_delete: frozenset[str]

    @property
    def resources(self) -> list[JsonObject]:
        """Return the manifests without Secrets and ConfigMaps."""
        return [m for m in self.manifests if m["kind"] not in _CORE]


@attrs.frozen
class Run:
    """The result of a set.

    problems: a line for each; empty if the set passed.
    """

    problems: tuple[str, ...]
    journal: tuple[Asked, ...]
    seconds: float

    @property
    def requests(self) -> Counter[str]:
        """Return the number of requests to Azure, by method."""
        return Counter(asked.method for asked in self.journal)


def read_sets(paths: Iterable[Path]) -> Iterator[ReplaySet]:
    """Yield the sets of some files and folders."""
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            raw = json.loads(file.read_text(encoding="utf-8"))
            yield ReplaySet(
                name=file.stem,
                manifests=tuple(raw["manifests"]),
                expected_puts=raw["expected_puts"],
                expected_exports=raw["expected_exports"],
                aso_requests=raw["aso_requests"],
                no_delete=frozenset(raw["no_delete"]),
            )


def replay(estate: ReplaySet, exchanges: list[RecordedExchange], folder: Path) -> Run:
    """Apply a set to an operator of its own, wait until it is ready, and delete it.
    Blocks.
    """
    began = time.monotonic()
    azure = ReplayServer(exchanges)
    problems: list[str] = []
    with Operation(folder, azure=azure) as operation:
        try:
            _create(estate, operation)
            problems += wrong_exports(estate, operation.client)
            problems += _excess(azure.journal, most_requests(exchanges))
            _delete(estate, operation)
        except (AssertionError, AsoreconcileError) as error:
            problems += [*_death(operation), str(error).partition("\n")[0]]
        problems += misfits(azure.summary())
    return Run(tuple(problems), tuple(azure.journal), time.monotonic() - began)


def most_requests(exchanges: list[RecordedExchange]) -> Counter[str]:
    """Return how many requests of each method a replay may send: those of the recorded
    client, and a look before each PUT, as the first one may be refused (OW-1).
    """
    fewest = fewest_requests(script_of(exchanges))
    return fewest + Counter(GET=fewest["PUT"])


def _create(estate: ReplaySet, operation: Operation) -> None:
    _install(estate, operation)
    operation.start_manager()
    for manifest in estate.manifests:
        operation.apply(_with_policy(estate, manifest))
    for obj in estate.resources:
        operation.wait_ready(obj)


def _delete(estate: ReplaySet, operation: Operation) -> None:
    for obj in estate.resources:
        with suppress(NotFoundError):  # already deleted with its owner
            operation.delete(obj)
    for obj in estate.resources:
        operation.wait_gone(obj)


def _install(estate: ReplaySet, operation: Operation) -> None:
    """Install each kind's CRD with the versions of the manifests."""
    for group_kind, names in versions_of(estate).items():
        document = crd(builtin().kind(group_kind), versions=names)
        operation.client.create(CUSTOM_RESOURCE_DEFINITIONS, document)


def versions_of(estate: ReplaySet) -> dict[GroupKind, set[str]]:
    """Return the versions of each kind in the manifests."""
    versions: dict[GroupKind, set[str]] = {}
    for gvk in map(gvk_of, estate.resources):
        versions.setdefault(gvk.group_kind, set()).add(gvk.version)
    return versions


def _death(operation: Operation) -> Iterator[str]:
    """Yield the last words of the manager if it has ended."""
    assert operation.manager is not None
    try:
        operation.manager.check()
    except AsoreconcileError as error:
        yield str(error)


def _with_policy(estate: ReplaySet, manifest: JsonObject) -> JsonObject:
    """Make objects of kinds without DELETE stay in Azure until their owner
    is deleted.
    """
    gvk = gvk_of(manifest)
    if f"{gvk.group}/{gvk.kind}/{key_of(manifest).name}" not in estate.no_delete:
        return manifest
    meta = manifest["metadata"]
    annotations = {**meta.get("annotations", {}), POLICY: "detach-on-delete"}
    return {**manifest, "metadata": {**meta, "annotations": annotations}}


def wrong_exports(estate: ReplaySet, client: KubeClient) -> Iterator[str]:
    """Yield the missing and wrong keys of exports, a line for each."""
    for title, expected in estate.expected_exports.items():
        kind, _, name = title.partition("/")
        try:
            found = client.get(_CORE[kind], ObjectKey("default", name))
        except NotFoundError:
            yield f"export: {title} is not there"
            continue
        data = found.get("data") or {}
        for key, value in expected.items():
            actual = data.get(key, "")
            if kind == "Secret":
                actual = base64.b64decode(actual).decode()
            if not actual or value not in ("*", actual):
                yield f"export: {title} {key}: {actual!r}, expected {value!r}"


def misfits(summary: Summary) -> Iterator[str]:
    """Yield the mismatches with the recording and the remaining resources, a line for
    each.
    """
    yield from (f"body: {text}" for text in summary.mismatches)
    yield from (f"not recorded: {text}" for text in summary.unmatched)
    yield from (f"read that was not recorded: {text}" for text in summary.unanswered)
    yield from (f"not sent: {text}" for text in summary.not_sent)
    yield from (f"left in Azure: {text}" for text in summary.left)


def _excess(journal: Iterable[Asked], fewest: Counter[str]) -> Iterator[str]:
    made = Counter(asked.method for asked in journal)
    for method in sorted(made):
        if made[method] > fewest[method]:
            yield f"{made[method]} {method} requests, ASO needed {fewest[method]}"


def data_path(name: str) -> Path:
    """Return the path of recorded data, whether or not it exists."""
    root = Path(__file__).resolve().parent.parent
    base = os.environ.get("ASORECONCILE_DATA") or root.parent / "shared" / "data"
    return Path(base) / name
