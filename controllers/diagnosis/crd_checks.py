"""The checks of the CRDs of Azure kinds, from CRDs to findings. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.catalogue.webhook_manifests import CONVERT_PATH, WebhookClient
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL, VERSION_LABEL
from asoreconcile.azure.controllers.crd_plan import (
    OPERATORS_NAME,
    DesiredCrds,
    is_build,
    is_newer_build,
    plan,
)
from asoreconcile.azure.controllers.crd_watcher import late_kinds
from asoreconcile.azure.controllers.definitions import CrdState
from asoreconcile.azure.controllers.diagnosis.finding import (
    DROP_STORED_VERSIONS,
    CheckSubject,
    Finding,
    some,
)
from asoreconcile.azure.controllers.diagnosis.object_parts import arguments_of
from asoreconcile.azure.controllers.discovery import Names
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    dig,
    is_deleting,
    key_of,
    labels,
    spec,
    status,
)

_KINDS = CheckSubject("kinds")


def of_crds(
    crds: Sequence[JsonObject], catalogue: Catalogue, own: str, served: Names
) -> Iterator[Finding]:
    """Check that the kinds are served at known versions.

    own: this program and its version, as it marks CRDs (`asoreconcile-1.2.3`).
    served: the cluster's discovery.
    """
    ours = [crd for crd in crds if _kind(crd) in _kinds(catalogue)]
    if not ours:
        yield _KINDS.error(
            "no CRD of an Azure kind is installed",
            "set --crd-pattern, or apply what `asoreconcile kinds crd` prints",
        )
        return
    troubles = [*_crd_troubles(ours, catalogue), *_not_running(ours, served)]
    troubles += _edited(ours, catalogue, own)
    yield from troubles
    if not troubles:
        yield _KINDS.ok(f"{len(ours)} kinds are installed")
    yield from _builds(ours, own)
    yield from _lacking(crds, catalogue)


def _edited(
    crds: Sequence[JsonObject], catalogue: Catalogue, own: str
) -> Iterator[Finding]:
    """Yield a finding for CRDs of this build that differ from those that this build
    installs.
    """
    for crd in crds:
        if labels(crd).get(VERSION_LABEL) != own:
            continue
        config = dig(crd, "spec.conversion.webhook.clientConfig") or {}
        service = config.get("service") or {}
        client = WebhookClient(
            url=str(config.get("url", "")).removesuffix(CONVERT_PATH),
            namespace=service.get("namespace", ""),
            name=service.get("name", ""),
            port=service.get("port", 443),
            ca_bundle=config.get("caBundle", ""),
        )
        wanted = DesiredCrds(own, conversion=client if config else None)
        if plan(catalogue.kind(_kind(crd)), crd, wanted).desired is not None:
            yield _KINDS.warning(
                f"{key_of(crd).name} is not as this program installs it: it was edited",
                "a running operator repairs what --crd-pattern names; else apply what "
                "`asoreconcile kinds crd` prints",
            )


def _builds(crds: Sequence[JsonObject], own: str) -> Iterator[Finding]:
    """Yield a finding about the builds that installed the CRDs. own: this program's
    mark.
    """
    builds = Counter(labels(crd).get(VERSION_LABEL, "") for crd in crds)
    for build in sorted(build for build in builds if build and not is_build(build)):
        text = f"{builds[build]} are of Azure Service Operator {build}"
        yield _KINDS.ok(f"{text}, and run as they are")
    for build in sorted(filter(is_build, builds)):
        if is_newer_build(build, own):
            yield _KINDS.warning(
                f"{builds[build]} CRDs are of {build}, newer than this program ({own})",
                "look with that version, and run that operator",
            )
        elif is_newer_build(own, build):
            yield _KINDS.warning(
                f"{builds[build]} CRDs are of {build}, older than this program ({own})",
                "upgrade the operator: it brings them up to date (--crd-pattern)",
            )


def _lacking(crds: Sequence[JsonObject], catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for kinds of Azure Service Operator that this program does not
    know.
    """
    known = _kinds(catalogue)
    unknown_: dict[str, list[str]] = {}
    for crd in crds:
        release = labels(crd).get(VERSION_LABEL) or "of an unknown release"
        is_theirs = labels(crd).get(NAME_LABEL) == OPERATORS_NAME
        if is_theirs and not is_build(release) and _kind(crd) not in known:
            unknown_.setdefault(release, []).append(str(_kind(crd)))
    for release, kinds in sorted(unknown_.items()):
        yield _KINDS.warning(
            f"Azure Service Operator {release} has kinds that this program lacks: "
            f"{', '.join(sorted(kinds))}",
            "their objects stay as they are and are not reconciled: keep Azure "
            "Service Operator for these kinds, or use a newer build of this program",
        )


def of_missing_kinds(
    deployment: JsonObject, crds: Sequence[JsonObject], catalogue: Catalogue
) -> Iterator[Finding]:
    """Check that the kinds of --crd-pattern are installed."""
    words = arguments_of(deployment)
    patterns = [w.partition("=")[2] for w in words if w.startswith("--crd-pattern=")]
    matched = match(patterns, [*catalogue.kinds()])
    for unmatched in matched.unmatched:
        yield _KINDS.error(f"--crd-pattern: {unmatched}", "mend the argument")
    there = {_kind(crd) for crd in crds}
    missing = [str(k) for k in matched.kinds if k.group_kind not in there]
    if missing:
        yield _KINDS.error(
            f"{len(missing)} that --crd-pattern asks for are missing: {some(missing)}",
            "look at the operator's log: it installs them at its start, and says what "
            "keeps it from that",
        )


def _not_running(crds: Sequence[JsonObject], served: Names) -> Iterator[Finding]:
    """Yield a finding for kinds that do not run although their CRDs are in order."""
    for crd in crds:
        name, kind = key_of(crd).name, _kind(crd)
        state = CrdState.of(crd, is_deleting=is_deleting(crd))
        if state.is_deleting:
            yield _KINDS.error(
                f"{name} is being deleted, and all its objects with it",
                "wait until it is gone: the operator installs what --crd-pattern asks "
                "for again",
            )
        elif late_kinds(served, {kind: state}, [kind]):
            shown = ", ".join(served.get(kind, ())) or "no version"
            yield _KINDS.error(
                f"{name} does not run as it should: the API server's discovery shows "
                f"{shown} of {', '.join(sorted(state.served)) or 'none'}",
                "wait a minute; else look at the log of the API server",
            )


def _crd_troubles(
    crds: Sequence[JsonObject], catalogue: Catalogue
) -> Iterator[Finding]:
    for crd in crds:
        name, versions = key_of(crd).name, spec(crd).get("versions") or ()
        conditions = {
            c.get("type"): c.get("status") for c in status(crd).get("conditions") or ()
        }
        if conditions.get("Established") != "True":
            yield _KINDS.error(
                f"{name} is not served",
                "`kubectl describe crd` says why; two CRDs may claim its names",
            )
        known = {*catalogue.kind(_kind(crd)).versions}
        known |= {version + STORED_SUFFIX for version in known}
        served = {v["name"] for v in versions if v.get("served")}
        if unknown_ := served - known:
            yield _KINDS.error(
                f"{name} serves versions that this build does not know: "
                f"{', '.join(sorted(unknown_))}",
                "a newer operator wrote it: run that one, or a newer build of this",
            )
        stored = {*(status(crd).get("storedVersions") or ())}
        storage = next((v["name"] for v in versions if v.get("storage")), "")
        if left := stored - {v["name"] for v in versions}:
            yield _KINDS.error(
                f"{name} stores objects at {', '.join(sorted(left))}, which it lacks",
                "install a build that knows them, which rewrites the objects",
            )
        elif old := sorted(stored - {storage}):
            yield _KINDS.warning(
                f"{name} lists {', '.join(old)}; objects are stored at {storage}",
                "a running operator cleans up within minutes; else `asoctl clean crds`",
                fix=DROP_STORED_VERSIONS,
                target=name,
            )


def _kinds(catalogue: Catalogue) -> frozenset[GroupKind]:
    return frozenset(kind.group_kind for kind in catalogue.kinds())


def _kind(crd: JsonObject) -> GroupKind:
    return GroupKind(str(dig(crd, "spec.group")), str(dig(crd, "spec.names.kind")))
