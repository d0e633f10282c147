"""Installing the CRDs of the kinds a pattern names.

Applied server-side by the hash of what we would write, so a start over an unchanged
cluster writes nothing. CRDs that another operator installed are left alone.
"""

import hashlib
from collections.abc import Iterable

import orjson

from asoreconcile.catalogue.crd import crd
from asoreconcile.catalogue.kinds import Kind
from asoreconcile.catalogue.webhookclient import WebhookClient
from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import InvalidError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.kube.selection import Selection
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, annotations, key_of, labels

FIELD_MANAGER = "asoreconcile"
SPEC_HASH = "asoreconcile/spec-hash"
_NAME_LABEL = "app.kubernetes.io/name"
_ASO_NAME = "azure-service-operator"
_STORED = "storedVersions"

_log = Logger(__name__)


class CrdConflictError(AsoreconcileError):
    """CRDs that somebody else installed stand where ours should."""


def manifest(
    kind: Kind,
    version: str | None = None,
    *,
    conversion: WebhookClient | None = None,
    rules: bool = True,
) -> JsonObject:
    """A kind's CRD as we install it, with the hash of its spec.

    version: the one to serve, by default the newest. conversion: who converts; all
    versions are served then. rules: whether the API server runs CEL.
    """
    versions = [version] if version else ()
    document = crd(
        kind,
        versions=kind.versions if conversion else versions,
        conversion=conversion,
        rules=rules,
    )
    digest = hashlib.sha256(orjson.dumps(document["spec"], option=orjson.OPT_SORT_KEYS))
    meta = document["metadata"]
    meta.setdefault("annotations", {})[SPEC_HASH] = digest.hexdigest()[:16]
    meta.setdefault("labels", {})[_NAME_LABEL] = "asoreconcile"
    return document


def install(
    client: KubeClient,
    kinds: Iterable[Kind],
    *,
    conversion: WebhookClient | None = None,
) -> int:
    """Apply the CRDs that are missing or differ; returns how many.

    conversion: as in `manifest`.
    Blocking. Raises CrdConflictError before anything is written if Azure Service
    Operator's own CRDs are among them, and for a CRD whose objects are stored in a
    version that it would not serve; ApiError, TransportError.
    """
    present = {
        key_of(obj).name: obj
        for obj in client.list_page(
            Selection(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True)
        ).items
    }
    wanted = {f"{kind.plural}.{kind.group}": kind for kind in kinds}
    _refuse_foreign({name: present[name] for name in wanted if name in present})
    applied = 0
    for name, kind in sorted(wanted.items()):
        document = manifest(kind, conversion=conversion)
        existing = present.get(name)
        if existing is not None and _same(existing, document):
            continue
        _log.info("Applying CRD", crd=name)
        _apply(client, document)
        applied += 1
    return applied


def _apply(client: KubeClient, document: JsonObject) -> None:
    key = key_of(document)
    try:
        client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key,
            document,
            kind="apply",
            field_manager=FIELD_MANAGER,
            force=True,
        )
    except InvalidError as error:
        if _STORED not in str(error):
            raise
        served = ", ".join(v["name"] for v in document["spec"]["versions"])
        raise CrdConflictError(
            f"objects of {key.name} are stored in a version that would not be served "
            f"any more (served: {served}): run with --all-versions, or store them anew "
            f"first. The API server said: {error}"
        ) from error


def _same(existing: JsonObject, document: JsonObject) -> bool:
    wanted = annotations(document)[SPEC_HASH]
    return annotations(existing).get(SPEC_HASH) == wanted


def _refuse_foreign(existing: dict[str, JsonObject]) -> None:
    foreign = sorted(
        name
        for name, obj in existing.items()
        if labels(obj).get(_NAME_LABEL) == _ASO_NAME
    )
    if foreign:
        raise CrdConflictError(
            "these CRDs belong to Azure Service Operator, whose stored versions this "
            "version cannot take over: " + ", ".join(foreign) + ". Leave them out of "
            "--crd-pattern, or use a cluster without it"
        )
