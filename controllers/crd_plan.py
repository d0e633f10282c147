"""Decides whether to update an existing CRD or to leave it as it is. Pure.

The CRD may come from Azure Service Operator, from an older or newer release of this
operator, or be hand-written. The operator's CRD replaces it only if it accepts
everything that the existing one does, and more. Otherwise the operator uses the
existing CRD unchanged, and reports that.
"""

import hashlib
import re
from collections.abc import Collection, Mapping

import attrs

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX, stored_name
from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.kinds import Kind, version_order
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.crd_coverage import missing, stored_version
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL, VERSION_LABEL
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, annotations, dig, labels
from asoreconcile.base.version import release_order
from asoreconcile.kube.patch import merge_patch

# Azure Service Operator's, which looks for its CRDs by it; and so do people's tools.
OPERATORS_NAME = "azure-service-operator"
SPEC_HASH = "asoreconcile/spec-hash"
# The stored form that a release of ASO chose, for as long as it may come back.
STORED_AS = "asoreconcile/stored-as"
# Names the Certificate, as `namespace/name`, whose CA cert-manager writes to caBundle.
INJECTED = "cert-manager.io/inject-ca-from"
_BUILD = re.compile(r"asoreconcile-(\d+(?:\.\d+)*)")


@attrs.frozen
class CrdPlan:
    """The decision about an existing CRD.

    desired: the complete CRD to write; None leaves the existing one unchanged. why: the
    reason for which it cannot be updated; "" if no update is needed.
    """

    desired: JsonObject | None = None
    why: str = ""


@attrs.frozen
class DesiredCrds:
    """The desired properties of all CRDs.

    conversion: the conversion webhook; with it all versions are served.
    labels: the user's labels.
    build: this program and its version, `asoreconcile-1.2.3`.
    authority: the certificate from which cert-manager takes the caBundle,
    `namespace/certificate`; "" does not set it.
    rules: whether the API server supports CEL.
    """

    build: str
    conversion: WebhookClient | None = None
    labels: Mapping[str, str] = attrs.field(factory=dict)
    authority: str = ""
    rules: bool = True

    def manifest(
        self,
        kind: Kind,
        versions: tuple[str, ...] = (),
        *,
        storage: str = "",
        complete: bool = False,
    ) -> JsonObject:
        """Return a kind's CRD as the operator installs it, with the hash of its spec.

        versions: the versions to serve; by default the newest, or all if there is a
        webhook.
        storage: the stored form of another version than the kind's own, to keep.
        complete: see `crd`; for comparisons, not to install.
        """
        if not versions and self.conversion is not None:
            versions = tuple(kind.versions)
        document = crd(
            kind,
            versions=versions,
            storage=storage,
            conversion=self.conversion,
            rules=self.rules,
            complete=complete,
        )
        notes = {SPEC_HASH: _digest(document["spec"])}
        if storage:
            notes[STORED_AS] = storage
        if self.authority and self.conversion is not None:
            notes[INJECTED] = self.authority
        own = {NAME_LABEL: OPERATORS_NAME, VERSION_LABEL: self.build}
        meta = {
            **document["metadata"],
            "labels": {**self.labels, **own},
            "annotations": notes,
        }
        return {**document, "metadata": meta}


def plan(kind: Kind, live: JsonObject, wanted: DesiredCrds) -> CrdPlan:
    """Return the decision about an existing CRD."""
    build = labels(live).get(VERSION_LABEL, "")
    names = [version["name"] for version in live["spec"]["versions"]]
    known = {*kind.versions, *(name + STORED_SUFFIX for name in kind.versions)}
    unknown = [name for name in names if name not in known]
    if is_build(build) and possibly_stored(live).isdisjoint(unknown):
        # A newer release of ours added it, and serves it again when it comes back.
        without = _not_served(live, unknown)
        if without != live:
            return CrdPlan(without)
    # During a rollout two versions run: the older one must not take back what the newer
    # one has installed.
    if is_newer_build(build, wanted.build):
        return CrdPlan(why=f"a newer version has installed it: {build}")
    stored = stored_version(live)
    if unknown:
        return CrdPlan(why=f"this version does not know its {', '.join(unknown)}")
    base = stored.removesuffix(STORED_SUFFIX)
    if version_order(base) > version_order(kind.storage):
        return CrdPlan(why=f"its objects are stored in a newer version: {stored}")
    default = kind.versions if wanted.conversion else (kind.storage,)
    # A served version stays served, because clients may use it.
    versions = tuple(dict.fromkeys([*default, *names]))
    if wanted.conversion is None and len(versions) > 1:
        listed = ", ".join(names)
        return CrdPlan(
            why=f"it serves {listed} without a conversion webhook: run with "
            "--webhook-port and --all-versions"
        )
    storage = _kept_storage(kind, live) if wanted.conversion else ""
    document = wanted.manifest(kind, versions, storage=storage)
    lack = missing(document, live)
    if lack:
        return CrdPlan(why=f"it has what ours lacks: {lack}")
    if not _adds(kind, document, live, wanted):
        return CrdPlan()
    return CrdPlan(_onto(live, document))


def possibly_stored(definition: JsonObject) -> frozenset[str]:
    """Return the names of the versions that objects of a CRD may be stored in."""
    versions = dig(definition, "spec.versions") or ()
    storage = [str(one["name"]) for one in versions if one.get("storage")]
    listed = dig(definition, "status.storedVersions") or ()
    return frozenset([*storage, *map(str, listed)])


def _not_served(live: JsonObject, names: Collection[str]) -> JsonObject:
    """Return the CRD with these versions kept, and no longer served."""
    versions = [
        {**one, "served": False} if one["name"] in names else one
        for one in live["spec"]["versions"]
    ]
    return {**live, "spec": {**live["spec"], "versions": versions}}


def _adds(
    kind: Kind,
    document: JsonObject,
    live: JsonObject,
    wanted: DesiredCrds,
) -> bool:
    """Return whether the operator's CRD has something that the existing one lacks."""
    if _is_ours(live):
        # By content: an edit by hand leaves the marks.
        return merge_patch(live, _onto(live, document)) is not None
    storage = stored_version(document)
    moved = wanted.conversion is not None and stored_version(live) != storage
    # The operator's CRD keeps every field that the operator writes. Another CRD that
    # names each of these fields is as good: it lacks something only if it lacks one of
    # them.
    needed = wanted.manifest(
        kind,
        tuple(version["name"] for version in document["spec"]["versions"]),
        storage=storage,
        complete=True,
    )
    return (
        moved
        or bool(missing(live, needed))
        or called(live) != called(document)
        or _distrusts(live, document)
        or not _holds(labels(live), wanted.labels)
    )


def _is_ours(live: JsonObject) -> bool:
    """Return whether this program was the last operator that wrote the CRD, as its
    labels and annotations say.
    """
    build = labels(live).get(VERSION_LABEL, "")
    return SPEC_HASH in annotations(live) and (not build or is_build(build))


def _kept_storage(kind: Kind, live: JsonObject) -> str:
    """Return the older stored form that objects stay in; "" is the kind's own.

    A release of Azure Service Operator cannot read a form that it does not know, nor
    restore its CRD once objects are stored so. If it chose the form, the form is kept
    until a person removes the annotation.
    """
    stored = stored_version(live)
    if not stored.endswith(STORED_SUFFIX) or stored == stored_name(kind):
        return ""
    notes = annotations(live)
    return stored if SPEC_HASH not in notes or notes.get(STORED_AS) == stored else ""


def _onto(live: JsonObject, document: JsonObject) -> JsonObject:
    """Return the operator's CRD with the metadata that others have written to the
    existing one.
    """
    meta, own = live["metadata"], document["metadata"]
    spec = {**live["spec"], **document["spec"]}
    spec["names"] = {**live["spec"]["names"], **document["spec"]["names"]}
    config = dig(spec, "conversion.webhook.clientConfig")
    given = dig(live["spec"], "conversion.webhook.clientConfig") or {}
    if config and "caBundle" not in config and called(live) == called(document):
        bundle = {key: given[key] for key in ("caBundle",) if key in given}
        hook = {**spec["conversion"]["webhook"], "clientConfig": {**config, **bundle}}
        spec["conversion"] = {**spec["conversion"], "webhook": hook}
    # The API server adds `strategy: None` where a CRD has no conversion.
    given_strategy = dig(live["spec"], "conversion.strategy")
    if "conversion" not in document["spec"] and given_strategy != "None":
        spec.pop("conversion", None)
    return {
        **live,
        "metadata": {
            **meta,
            "labels": {**(meta.get("labels") or {}), **own["labels"]},
            "annotations": {**(meta.get("annotations") or {}), **own["annotations"]},
        },
        "spec": spec,
    }


def called(definition: JsonObject) -> tuple[str, ...]:
    """Return the parts of the address at which the API server calls the conversion
    webhook; each is "" if absent.
    """
    config = dig(definition, "spec.conversion.webhook.clientConfig") or {}
    service = config.get("service") or {}
    members = ("namespace", "name", "path")
    return (
        str(config.get("url", "")),
        *(str(service.get(member, "")) for member in members),
        str(service.get("port", 443)),
    )


def _distrusts(live: JsonObject, document: JsonObject) -> bool:
    """Return whether the CRD has another CA than the operator's file, and cert-manager
    does not set it.
    """
    path = "spec.conversion.webhook.clientConfig.caBundle"
    bundle = dig(document, path)
    return (
        bundle is not None
        and dig(live, path) != bundle
        and INJECTED not in annotations(live)
    )


def is_build(label: str) -> bool:
    """Return whether a CRD's version label is one of this program's."""
    return _BUILD.fullmatch(label) is not None


def is_newer_build(other: str, own: str) -> bool:
    """Return whether a build of this program is newer than another; false for other
    labels.
    """
    one, two = _BUILD.fullmatch(other), _BUILD.fullmatch(own)
    if one is None or two is None:
        return False
    return release_order(one[1]) > release_order(two[1])


def _holds(there: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(there.get(key) == value for key, value in wanted.items())


def _digest(spec: JsonObject) -> str:
    text = jsontext.dumps(spec, sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:16]
