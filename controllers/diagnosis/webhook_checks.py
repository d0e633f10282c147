"""Check webhooks and their certificates. Pure."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import Certificate

from asoreconcile.azure.controllers.crd_plan import INJECTED
from asoreconcile.azure.controllers.diagnosis.finding import (
    REMOVE_CA_BUNDLE,
    RESTART_OPERATOR,
    CheckSubject,
    Finding,
    some,
)
from asoreconcile.azure.controllers.diagnosis.object_parts import (
    arguments_of,
    containers_of,
)
from asoreconcile.base.certificates import load_all
from asoreconcile.base.objects import JsonObject, ObjectKey, annotations, dig, key_of

_WEBHOOKS = CheckSubject("webhooks")

_MOUNTED = "k8s-webhook-server/serving-certs"
_SOON = timedelta(days=14)


def ends_of_bundle(bundle: str) -> datetime | None:
    """Return when the last CA of a caBundle (base64 of PEM) expires; None if
    unreadable.
    """
    return max((c.not_valid_after_utc for c in _certificates(bundle)), default=None)


def of_conversions(
    crds: Sequence[JsonObject], now: datetime, *, serving: JsonObject | None = None
) -> Iterator[Finding]:
    """Check that the API server trusts the conversion webhook of each kind, and how
    long.

    serving: the Secret with the operator's own certificate; None without one.
    """
    own = _authorities(str(((serving or {}).get("data") or {}).get("ca.crt") or ""))
    bundles: dict[str, str] = {}
    for crd in crds:
        webhook = _conversion(crd)
        if webhook is None:
            continue
        bundle = str((webhook.get("clientConfig") or {}).get("caBundle") or "")
        yield from _of_conversion(crd, bundle, now)
        if bundle:
            bundles.setdefault(bundle, key_of(crd).name)
    for bundle, name in bundles.items():
        theirs = _authorities(bundle)
        if own and theirs and own.isdisjoint(theirs):
            yield _WEBHOOKS.error(
                f"the API server trusts another authority for the conversion of {name} "
                "than the operator's own",
                "the leader writes its own where it may patch the CRD: look at its log "
                "and at deploy/rbac.yaml",
            )
        ends = ends_of_bundle(bundle)
        if ends is not None and timedelta() < ends - now < _SOON:
            yield _WEBHOOKS.warning(
                f"the authority for the conversion of {name} ends at {ends:%Y-%m-%d}",
                "the operator renews its own; one of yours is yours to renew",
            )
    if len(bundles) > 1:
        yield _WEBHOOKS.warning(
            f"the API server knows {len(bundles)} authorities for conversions",
            "two operators may serve webhooks: one of them should be in mode watchers",
        )


def _of_conversion(crd: JsonObject, bundle: str, now: datetime) -> Iterator[Finding]:
    name, text = key_of(crd).name, ""
    is_injected = INJECTED in annotations(crd)
    if not bundle:
        yield _WEBHOOKS.error(
            f"the API server has no authority for the conversion of {name}",
            "the operator writes it once it is ready; with cert-manager's certificates "
            "look at its CA injector",
        )
        return
    ends = ends_of_bundle(bundle)
    if ends is None:
        text = f"the authority for the conversion of {name} cannot be read"
    elif ends < now:
        text = f"the authority for the conversion of {name} ended at {ends:%Y-%m-%d}"
    if text and is_injected:
        yield _WEBHOOKS.error(text, "look at cert-manager's Certificate and injector")
    elif text:
        yield _WEBHOOKS.error(
            text,
            "remove `caBundle` there: a running operator writes its own",
            fix=REMOVE_CA_BUNDLE,
            target=name,
        )


def _authorities(bundle: str) -> frozenset[bytes]:
    """Return the digests of the certificates of a caBundle (base64 of PEM)."""
    return frozenset(one.fingerprint(SHA256()) for one in _certificates(bundle))


def _certificates(bundle: str) -> Sequence[Certificate]:
    """Return the certificates of a caBundle (base64 of PEM); () if it is unreadable."""
    try:
        return load_all(base64.b64decode(bundle))
    except ValueError:
        return ()


def of_admission(
    configurations: Mapping[str, JsonObject | None], namespace: str
) -> Iterator[Finding]:
    """Check that objects are validated when they are written.

    configurations: the operator's two by kind and name, None for a missing one.
    """
    there = {name: one for name, one in configurations.items() if one is not None}
    if not there:
        yield _WEBHOOKS.ok(
            "no admission webhooks: wrong objects are refused by a condition"
        )
        return
    if missing := sorted(configurations.keys() - there.keys()):
        yield _WEBHOOKS.warning(
            f"there is no {', '.join(missing)}",
            "apply deploy/webhooks.yaml, which has both",
        )
    for name, configuration in there.items():
        hooks = configuration.get("webhooks") or ()
        clients = [hook.get("clientConfig") or {} for hook in hooks]
        if not all(client.get("caBundle") for client in clients):
            yield _WEBHOOKS.error(
                f"the API server has no authority for {name}: it refuses every write",
                "the operator writes it once it is ready, where it serves webhooks "
                "(--webhook-port) and may patch the configuration",
            )
        places = {str((c.get("service") or {}).get("namespace", "")) for c in clients}
        if others := sorted(places - {"", namespace}):
            yield _WEBHOOKS.warning(
                f"{name} asks an operator in {', '.join(others)}",
                "look whether it is the one you mean: --operator-namespace",
            )


def of_secret_access(
    why_no_policy: str, deployment: JsonObject | None
) -> Iterator[Finding]:
    """Check that writers of specs are checked, as ASORECONCILE_CHECK_SECRET_ACCESS asks
    for.

    why_no_policy: why the API server's policy does not check them, or "".
    """
    asks = any("--webhook-client-ca" in one for one in arguments_of(deployment))
    if not why_no_policy:
        yield _WEBHOOKS.ok("the API server checks who may name a Secret in a spec")
    elif asks:
        yield _WEBHOOKS.ok("the webhook checks who may name a Secret in a spec")
    else:
        yield _WEBHOOKS.warning(
            "ASORECONCILE_CHECK_SECRET_ACCESS is set, but nothing checks who names a "
            f"Secret in a spec: {why_no_policy}",
            "apply deploy/secret-policy.yaml, or upgrade the chart's release; or let "
            "the webhooks ask API servers for a certificate (--webhook-client-ca)",
        )


def services_asked(
    crds: Iterable[JsonObject], configurations: Iterable[JsonObject | None]
) -> Mapping[ObjectKey, str]:
    """Return the Services that the API server calls, each with the name of one webhook
    that leads to it.
    """
    found: dict[ObjectKey, str] = {}
    for crd in crds:
        _name_service(
            found, _conversion(crd) or {}, f"the conversion of {key_of(crd).name}"
        )
    for configuration in filter(None, configurations):
        for hook in configuration.get("webhooks") or ():
            _name_service(found, hook, key_of(configuration).name)
    return found


def _name_service(found: dict[ObjectKey, str], hook: JsonObject, what: str) -> None:
    service = (hook.get("clientConfig") or {}).get("service")
    if service:
        key = ObjectKey(str(service.get("namespace")), str(service.get("name")))
        found.setdefault(key, what)


def of_service(
    key: ObjectKey,
    service: JsonObject | None,
    asked: str,
    deployment: JsonObject | None,
) -> Iterator[Finding]:
    """Check that a Service which the API server calls exists and leads to webhooks.

    service: None if there is no such Service.
    asked: a webhook for which the API server calls the Service.
    deployment: the operator's Deployment; None if it was not found.
    """
    if service is None:
        yield _WEBHOOKS.error(
            f"there is no Service {key}, which the API server asks for {asked}",
            "apply the operator's manifests or chart again; without webhooks "
            "`asoctl clean crds --one-version` leaves no object that needs them",
        )
        return
    pods = dig(deployment or {}, "spec.template.metadata.labels") or {}
    selector = dig(service, "spec.selector") or {}
    off = "--webhook-port=0" in arguments_of(deployment)
    if off and selector.items() <= pods.items():
        yield _WEBHOOKS.error(
            f"the operator serves no webhooks, and the API server asks it for {asked}",
            "remove --webhook-port=0, or first let `asoctl clean crds --one-version` "
            "leave no object that needs them",
        )


def of_lost_certificate(
    secret: str, crds: Iterable[JsonObject], deployment: JsonObject
) -> Iterator[Finding]:
    """Check whether CRDs trust a certificate of the operator's own without its Secret.

    secret: the missing Secret, `namespace/name`. deployment: the operator's.
    """
    key = key_of(deployment)
    mounted = str([one.get("volumeMounts") for one in containers_of(deployment)])
    if "--webhook-cert-dir" in str(arguments_of(deployment)) or _MOUNTED in mounted:
        return  # the certificate is from cert-manager or from files
    trusting = [
        key_of(crd).name
        for crd in crds
        if dig(_conversion(crd) or {}, "clientConfig.caBundle")
        and dig(_conversion(crd) or {}, "clientConfig.service.namespace")
        == key.namespace
        and INJECTED not in annotations(crd)
    ]
    if trusting:
        yield _WEBHOOKS.warning(
            f"there is no Secret {secret}, whose certificate the API server trusts for "
            f"the conversion of {some(trusting)}",
            "a running operator makes it again within ten minutes, and at its start: "
            f"kubectl rollout restart -n {key.namespace} deployment/{key.name}",
            fix=RESTART_OPERATOR,
            target=str(key),
        )


def of_serving_certificate(
    secret: JsonObject | None, now: datetime
) -> Iterator[Finding]:
    """Check how long the webhooks' own certificate is valid, if there is one."""
    if secret is None:
        return
    text = str((secret.get("data") or {}).get("tls.crt") or "")
    ends, name = ends_of_bundle(text), str(key_of(secret))
    if ends is None:
        yield _WEBHOOKS.error(
            f"the certificate in Secret {name} cannot be read",
            f"delete it: `kubectl delete secret -n {key_of(secret).namespace} "
            f"{key_of(secret).name}`; the operator makes a new one",
        )
    elif ends < now:
        yield _WEBHOOKS.error(
            f"the webhooks' certificate in {name} ended at {ends:%Y-%m-%d}",
            "look whether a leader runs, which renews it, and at its log",
        )
    elif ends - now < timedelta(days=1):
        yield _WEBHOOKS.warning(
            f"the webhooks' certificate in {name} ends at {ends:%Y-%m-%d %H:%M}",
            "look whether a leader runs, which renews it, and at its log",
        )
    else:
        yield _WEBHOOKS.ok(f"the webhooks' certificate holds until {ends:%Y-%m-%d}")


def _conversion(crd: JsonObject) -> JsonObject | None:
    if dig(crd, "spec.conversion.strategy") != "Webhook":
        return None
    return dig(crd, "spec.conversion.webhook") or {}
