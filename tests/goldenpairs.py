"""Golden pairs: a custom resource and the PUT that was recorded for it, compared.

`hack/golden` prints the comparison, `tests/parity/test_golden.py` asserts it. The pairs
and the recordings are read from the data folder, never from the project.
"""

import json
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.catalogue import render
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.render import RenderedRequest
from asoreconcile.azure.catalogue.resolution import Resolution, answers_of
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, gvk_of

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
RECORDINGS = "recordings-dev.tar.xz"


@attrs.frozen
class Pair:
    """One file: the applied object, the values of its references, and the
    recorded PUT.
    """

    name: str
    cr: JsonObject
    resolve: JsonObject
    put: JsonObject
    recording: str
    keeps_children: bool


def read_pairs(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        yield Pair(
            name=path.stem,
            cr=raw["cr"],
            resolve=raw["resolve"],
            put=raw["put"],
            recording=Path(raw["recording"]).stem,
            keeps_children=bool(raw["needs"]),
        )


def recorded_answers(pairs: Iterable[Pair], recordings: Path) -> dict[str, JsonObject]:
    """Return Azure's answers to the last GET before the recorded PUT, by pair name.

    They are only returned for pairs whose body has children that Azure has and the spec
    lacks.
    """
    needed: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.keeps_children:
            needed.setdefault(f"recordings/{pair.recording}.json", []).append(pair)
    answers: dict[str, JsonObject] = {}
    if not needed:
        return answers
    with tarfile.open(recordings) as archive:
        for member in archive:
            for pair in needed.get(member.name, ()):
                file = archive.extractfile(member)
                assert file is not None
                exchanges = json.loads(file.read())["exchanges"]
                answer = _last_get(exchanges, pair.put["path"])
                if answer is not None:
                    answers[pair.name] = answer
    return answers


def request_of(pair: Pair, answer: JsonObject | None) -> RenderedRequest:
    """Return the request that the project would send for a pair.

    answer: Azure's resource, for its children.

    The spec is not validated, because an API server has accepted it and dropped unknown
    fields. Raises LookupNeededError if a pair does not contain all values.
    """
    catalogue = builtin()
    version = catalogue.version(gvk_of(pair.cr))
    resolution = Resolution(
        catalogue,
        [pair.cr],
        answers=answers_of(pair.resolve),
        subscription_id=SUBSCRIPTION,
    )
    request = render.request_of(version, pair.cr, resolution)
    if pair.keeps_children:
        body = _with_children(catalogue, pair, request, answer)
        return attrs.evolve(request, body=body)
    return request


def differences(pair: Pair, request: RenderedRequest) -> list[str]:
    """Return the differences between a request and the recorded PUT; [] if there are
    none.
    """
    found = []
    if request.path != pair.put["path"]:
        found.append(f"path: {request.path}, recorded {pair.put['path']}")
    if request.api_version != pair.put["api_version"]:
        found.append(
            f"api-version: {request.api_version}, recorded {pair.put['api_version']}"
        )
    return [*found, *_unequal(request.body, pair.put["body"], "body")]


def _last_get(exchanges: list[JsonObject], path: str) -> JsonObject | None:
    body: JsonObject | None = None
    for exchange in exchanges:
        url_path = exchange["url"].partition("?")[0]
        if not url_path.lower().endswith(path.lower()):
            continue
        if exchange["method"] == "PUT":
            return body
        if exchange["method"] == "GET" and exchange["status"] == 200:
            body = exchange["body"]
    return None


class LookupNeededError(AsoreconcileError):
    """The request depends on values of Azure or the cluster that the pair lacks."""


class _Nobody:
    """A double of Azure and the cluster, which must not be called here."""

    def __getattr__(self, name: str) -> Any:
        raise LookupNeededError(f"needs a lookup ({name}) that the pair does not hold")


def _with_children(
    catalogue: Catalogue,
    pair: Pair,
    request: RenderedRequest,
    answer: JsonObject | None,
) -> JsonObject:
    version = catalogue.version(gvk_of(pair.cr))
    extensions = Extensions.compose(
        builtin_sets(), kinds=[kind.group_kind for kind in catalogue.kinds()]
    )
    context = ReconcileContext(
        version=version,
        arm=_Nobody(),
        arm_id=request.path,
        subscription_id=SUBSCRIPTION,
        objects=_Nobody(),
        log=Logger(__name__),
        clock=SystemClock(),
    )
    context.observed(answer, Absence.NOT if answer else Absence.CERTAIN)
    modify = extensions.chain(MODIFY_PAYLOAD, version.group_kind)
    return modify(ModifyPayload(context, pair.cr, request.body, is_first=True))


def _unequal(ours: Any, recorded: Any, at: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(recorded, dict):
        for key in sorted({*ours, *recorded}):
            if key not in recorded:
                yield f"{at}.{key}: {json.dumps(ours[key])}, recorded nothing"
            elif key not in ours:
                yield f"{at}.{key}: nothing, recorded {json.dumps(recorded[key])}"
            else:
                yield from _unequal(ours[key], recorded[key], f"{at}.{key}")
    elif isinstance(ours, list) and isinstance(recorded, list):
        if len(ours) != len(recorded):
            yield f"{at}: {len(ours)} items, recorded {len(recorded)}"
        for index, (one, other) in enumerate(zip(ours, recorded, strict=False)):
            yield from _unequal(one, other, f"{at}[{index}]")
    elif ours != recorded or isinstance(ours, bool) != isinstance(recorded, bool):
        yield f"{at}: {json.dumps(ours)}, recorded {json.dumps(recorded)}"
