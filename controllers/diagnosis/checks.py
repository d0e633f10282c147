"""The checks of an installation, each from objects to findings. Pure."""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from asoreconcile.azure.annotations import FINALIZER
from asoreconcile.azure.conditions import find_ready
from asoreconcile.catalogue.conversion import STORED_SUFFIX
from asoreconcile.catalogue.kinds import Catalogue
from asoreconcile.certificates import load_all
from asoreconcile.controllers.diagnosis.finding import (
    Finding,
    error,
    ok,
    warning,
)
from asoreconcile.controllers.settings import SettingsError, from_environment
from asoreconcile.objects import (
    GroupKind,
    JsonObject,
    finalizers,
    is_deleting,
    key_of,
    metadata,
    status,
)

_SHOWN = 5
_DELETED_LONG = timedelta(hours=1)
_UNSEEN_LONG = timedelta(minutes=5)
_CERTIFICATE_SOON = timedelta(days=14)
_RESTARTS = 5


def of_deployment(deployment: JsonObject | None, name: str) -> Iterator[Finding]:
    """Whether replicas run."""
    if deployment is None:
        yield error(
            "operator",
            f"there is no Deployment {name}",
            "install the operator, or say where it is: --operator-namespace",
        )
        return
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    available = status(deployment).get("availableReplicas") or 0
    text = f"{available} of {wanted} replicas of {name} are available"
    if wanted == 0:
        yield error("operator", text, "scale it up: kubectl scale --replicas 2")
    elif available == 0:
        yield error(
            "operator",
            text,
            "look at `kubectl describe` and the log of its pods; `/readyz?verbose` "
            "says what they wait for",
        )
    elif available < wanted:
        yield warning("operator", text, "look at the pods that are not available")
    else:
        yield ok("operator", text)


def of_pods(pods: Sequence[JsonObject]) -> Iterator[Finding]:
    """Whether containers crash again and again, and which images run."""
    images: Counter[str] = Counter()
    for pod in pods:
        for container in status(pod).get("containerStatuses") or ():
            images[str(container.get("image"))] += 1
            if (restarts := container.get("restartCount") or 0) > _RESTARTS:
                last = (container.get("lastState") or {}).get("terminated") or {}
                why = last.get("reason") or "an unknown reason"
                yield warning(
                    "pods",
                    f"{key_of(pod).name} restarted {restarts} times, last for {why}",
                    "look at `kubectl logs --previous`",
                )
    if len(images) > 1:
        yield warning(
            "pods",
            f"replicas run different images: {', '.join(sorted(images))}",
            "wait for the rollout to end, or look why it does not",
        )


def of_settings(secret: JsonObject | None, name: str) -> Iterator[Finding]:
    """Whether the settings can be used; values are not shown."""
    if secret is None:
        yield error(
            "settings",
            f"there is no Secret {name}: the pods wait for it",
            "create it (deploy/README.md has the command)",
        )
        return
    values = {
        key: base64.b64decode(value).decode(errors="replace")
        for key, value in (secret.get("data") or {}).items()
    }
    namespace = key_of(secret).namespace
    try:
        settings = from_environment({"POD_NAMESPACE": namespace, **values})
    except SettingsError as wrong:
        for problem in wrong.problems:
            yield error("settings", problem, f"mend Secret {name} and restart the pods")
        return
    yield ok("settings", f"Secret {name} can be used")
    for notice in settings.notices:
        yield warning("settings", notice, "")


def of_lease(lease: JsonObject | None, name: str, now: datetime) -> Iterator[Finding]:
    """Whether somebody leads."""
    if lease is None:
        yield warning(
            "leader",
            f"there is no Lease {name}",
            "normal with one replica and without --enable-leader-election",
        )
        return
    spec = lease.get("spec") or {}
    holder = spec.get("holderIdentity")
    renewed = _instant(spec.get("renewTime"))
    seconds = spec.get("leaseDurationSeconds") or 15
    if not holder:
        yield error("leader", "nobody leads", "look at the log of the replicas")
    elif renewed is None or now - renewed > timedelta(seconds=2 * seconds):
        since = (
            "never" if renewed is None else f"{(now - renewed).total_seconds():.0f} s"
        )
        yield error(
            "leader",
            f"{holder} leads and has not renewed its lease for {since}",
            "its pod may be gone or cut off; look also at this machine's clock",
        )
    else:
        yield ok("leader", f"{holder} leads")


def of_crds(crds: Sequence[JsonObject], catalogue: Catalogue) -> Iterator[Finding]:
    """Whether the kinds are served at versions that are known, and can be converted."""
    ours = [crd for crd in crds if _kind(crd) in _kinds(catalogue)]
    if not ours:
        yield error(
            "kinds",
            "no CRD of an Azure kind is installed",
            "set --crd-pattern, or apply what `asoreconcile kinds crd` prints",
        )
        return
    troubles = [*_crd_troubles(ours, catalogue)]
    yield from troubles
    if not troubles:
        yield ok("kinds", f"{len(ours)} kinds are installed")


def _crd_troubles(
    crds: Sequence[JsonObject], catalogue: Catalogue
) -> Iterator[Finding]:
    for crd in crds:
        name, spec = key_of(crd).name, crd.get("spec") or {}
        conditions = {
            c.get("type"): c.get("status") for c in status(crd).get("conditions") or ()
        }
        if conditions.get("Established") != "True":
            yield error(
                "kinds",
                f"{name} is not served",
                "`kubectl describe crd` says why; two CRDs may claim its names",
            )
        known = {*catalogue.kind(_kind(crd)).versions}
        known |= {version + STORED_SUFFIX for version in known}
        served = {v["name"] for v in spec.get("versions") or () if v.get("served")}
        if unknown_ := served - known:
            yield error(
                "kinds",
                f"{name} serves versions that this build does not know: "
                f"{', '.join(sorted(unknown_))}",
                "a newer operator wrote it: run that one, or a newer build of this",
            )
        stored = {*(status(crd).get("storedVersions") or ())}
        if left := stored - {v["name"] for v in spec.get("versions") or ()}:
            yield error(
                "kinds",
                f"{name} stores objects at {', '.join(sorted(left))}, which it lacks",
                "install a build that knows them, which rewrites the objects",
            )
        conversion = spec.get("conversion") or {}
        if conversion.get("strategy") == "Webhook":
            yield from _of_webhook(name, conversion.get("webhook") or {})


def _of_webhook(name: str, webhook: JsonObject) -> Iterator[Finding]:
    if not (webhook.get("clientConfig") or {}).get("caBundle"):
        yield error(
            "webhooks",
            f"the API server has no authority for the conversion of {name}",
            "the operator writes it once it is ready; with cert-manager's certificates "
            "look at its CA injector",
        )


def of_webhook_authorities(
    crds: Sequence[JsonObject], now: datetime
) -> Iterator[Finding]:
    """When the authorities end that conversion webhooks are trusted by."""
    bundles: dict[str, str] = {}
    for crd in crds:
        conversion = (crd.get("spec") or {}).get("conversion") or {}
        client = (conversion.get("webhook") or {}).get("clientConfig") or {}
        if client.get("caBundle"):
            bundles.setdefault(str(client["caBundle"]), key_of(crd).name)
    for bundle, name in bundles.items():
        try:
            ends = max(
                c.not_valid_after_utc for c in load_all(base64.b64decode(bundle))
            )
        except ValueError:
            yield error(
                "webhooks",
                f"the authority for the conversion of {name} cannot be read",
                "remove `caBundle` there: the operator writes it again",
            )
            continue
        if ends < now:
            yield error(
                "webhooks",
                f"the authority for the conversion of {name} ended at {ends:%Y-%m-%d}",
                "restart the operator: it makes a new one and tells the API server",
            )
        elif ends - now < _CERTIFICATE_SOON:
            yield warning(
                "webhooks",
                f"the authority for the conversion of {name} ends at {ends:%Y-%m-%d}",
                "the operator renews its own; one of yours is yours to renew",
            )
    if len(bundles) > 1:
        yield warning(
            "webhooks",
            f"the API server knows {len(bundles)} authorities for conversions",
            "two operators may serve webhooks: one of them should be in mode watchers",
        )


def of_objects(objects: Sequence[JsonObject], now: datetime) -> Iterator[Finding]:
    """Which objects are not Ready, by reason, and which wait to go or to be seen."""
    reasons: dict[tuple[str, str], list[str]] = {}
    unseen, stuck = [], []
    for obj in objects:
        title = f"{obj.get('kind')} {key_of(obj)}"
        condition = find_ready(status(obj).get("conditions"))
        if _is_stuck(obj, now):
            stuck.append(title)
        elif condition is None:
            made = _instant(metadata(obj).get("creationTimestamp"))
            if made is not None and now - made > _UNSEEN_LONG:
                unseen.append(title)
        elif condition.get("status") != "True":
            reason = (
                str(condition.get("severity") or ""),
                str(condition.get("reason")),
            )
            reasons.setdefault(reason, []).append(title)
    for (severity, named), titles in sorted(reasons.items()):
        level = {"Error": error, "Warning": warning}.get(severity)
        text = f"{len(titles)} not Ready, {named}: {_some(titles)}"
        if level is not None:
            yield level("objects", text, "`asoctl explain KIND/NAME` says what to do")
        else:
            yield ok("objects", text)
    if unseen:
        yield error(
            "objects",
            f"{len(unseen)} were never looked at: {_some(unseen)}",
            "look whether an operator watches their namespaces and runs their kinds",
        )
    if stuck:
        yield error(
            "objects",
            f"{len(stuck)} are being deleted for more than an hour: {_some(stuck)}",
            "`asoctl explain` says what holds them; with the annotation "
            "serviceoperator.azure.com/reconcile-policy: detach-on-delete they go and "
            "their resources stay",
        )
    if not (reasons or unseen or stuck):
        yield ok("objects", f"all {len(objects)} are Ready")


def of_rights(allowed: Mapping[str, bool], who: str) -> Iterator[Finding]:
    """allowed: by what was asked, such as `patch secrets`."""
    lacking = sorted(asked for asked, answer in allowed.items() if not answer)
    if lacking:
        yield error(
            "rights",
            f"{who} may not {', '.join(lacking[:_SHOWN])}"
            + (f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""),
            "apply deploy/rbac.yaml, and look at the bindings",
        )
    elif allowed:
        yield ok("rights", f"{who} may do what the operator does")


def _is_stuck(obj: JsonObject, now: datetime) -> bool:
    since = _instant(metadata(obj).get("deletionTimestamp"))
    return (
        is_deleting(obj)
        and FINALIZER in finalizers(obj)
        and since is not None
        and now - since > _DELETED_LONG
    )


def _some(titles: Sequence[str]) -> str:
    shown = ", ".join(titles[:_SHOWN])
    return shown if len(titles) <= _SHOWN else f"{shown}, ..."


def _kinds(catalogue: Catalogue) -> frozenset[GroupKind]:
    return frozenset(kind.group_kind for kind in catalogue.kinds())


def _kind(crd: JsonObject) -> GroupKind:
    spec = crd.get("spec") or {}
    return GroupKind(str(spec.get("group")), str((spec.get("names") or {}).get("kind")))


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
