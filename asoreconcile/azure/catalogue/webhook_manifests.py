"""Build the webhook configurations for defaulting and validating Azure objects.

There is one webhook for each, with one rule per group, for the versions that users
write; statuses are excluded. Another webhook reviews deletions, and a third one writes
of stored forms that change a spec, so that no served version is a way around the rules.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX
from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.base.objects import JsonObject

CONVERT_PATH = "/convert"
MUTATE_PATH = "/mutate"
VALIDATE_PATH = "/validate"


@attrs.frozen
class WebhookClient:
    """An address for CRDs and webhook configurations.

    url: `https://host:port`; if empty, the service `namespace`/`name` at `port`.
    ca_bundle: base64 of the PEM that the webhook's certificate is verified with; "" if
    another component injects it.
    """

    url: str = ""
    namespace: str = ""
    name: str = ""
    port: int = 443
    ca_bundle: str = ""

    def config(self, path: str) -> JsonObject:
        """Return the `clientConfig` of a webhook, or of a CRD's conversion, served at
        `path`.
        """
        bundle = {"caBundle": self.ca_bundle} if self.ca_bundle else {}
        if self.url:
            return {"url": self.url.rstrip("/") + path, **bundle}
        service = {
            "namespace": self.namespace,
            "name": self.name,
            "path": path,
            "port": self.port,
        }
        return {"service": service, **bundle}


_CREDENTIAL = "serviceoperator.azure.com/credential-from"


def _credential(it: str) -> str:
    notes = f"{it}.metadata.annotations"
    return (
        f"(has({notes}) && '{_CREDENTIAL}' in {notes} ? {notes}['{_CREDENTIAL}'] : '')"
    )


WRITTEN = (
    "request.operation == 'CREATE' || "
    "(has(object.spec) ? dyn(object.spec) : dyn({})) != "
    "(has(oldObject.spec) ? dyn(oldObject.spec) : dyn({})) || "
    f"{_credential('object')} != {_credential('oldObject')}"
)
"""The condition (CEL) for a write that changes a spec or the credential: the operator's
own writes do not.
"""

MUTATING_NAME = "azureserviceoperator-mutating-webhook-configuration"
VALIDATING_NAME = "azureserviceoperator-validating-webhook-configuration"
DELETIONS_NAME = "deletions.azure.com"
STORED_NAME = "stored.azure.com"
_DELETION_SECONDS = 5


def webhook_configurations(
    kinds: Iterable[Kind], client: WebhookClient
) -> list[JsonObject]:
    """Return a mutating and a validating configuration
    (admissionregistration.k8s.io/v1).

    The validating one has further webhooks, for deletions and for stored forms.
    """
    kinds = list(kinds)
    rules = _rules(kinds)
    documents: list[JsonObject] = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"{path.lstrip('/')}.azure.com",
                    "admissionReviewVersions": ["v1"],
                    "clientConfig": client.config(path),
                    # Ignored, a write would be stored that the reconciler can only
                    # complain about.
                    "failurePolicy": "Fail",
                    # `Equivalent` would have the API server convert each stored form,
                    # and send reviews of the operator's own writes; `stored.azure.com`
                    # is asked about the others.
                    "matchPolicy": "Exact",
                    # So that dry runs are reviewed as well: the API server refuses them
                    # otherwise.
                    "sideEffects": "None",
                    "rules": rules,
                }
            ],
        }
        for kind, name, path in (
            ("MutatingWebhookConfiguration", MUTATING_NAME, MUTATE_PATH),
            ("ValidatingWebhookConfiguration", VALIDATING_NAME, VALIDATE_PATH),
        )
    ]
    documents[1]["webhooks"] += [_deletions(kinds, client), _stored(kinds, client)]
    return documents


def _deletions(kinds: Iterable[Kind], client: WebhookClient) -> JsonObject:
    """Return the webhook that refuses deletions of protected objects.

    One rule names whole groups: deletions are requested in any version, and hundreds of
    names would change nothing, as the handler allows all other kinds.
    """
    return {
        "name": DELETIONS_NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client.config(VALIDATE_PATH),
        # The reconciler holds back the DELETE in any case, so a pod that does not
        # answer must block no deletion.
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "sideEffects": "None",
        "timeoutSeconds": _DELETION_SECONDS,
        "rules": [deletion_rule(kinds)],
    }


def _stored(kinds: Iterable[Kind], client: WebhookClient) -> JsonObject:
    """Return the webhook that validates stored forms.

    The operator's own writes change no spec, and cost no review.
    """
    return {
        "name": STORED_NAME,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client.config(VALIDATE_PATH),
        "failurePolicy": "Fail",
        "matchPolicy": "Exact",
        "sideEffects": "None",
        "matchConditions": [{"name": "written", "expression": WRITTEN}],
        "rules": _rules(kinds, STORED_SUFFIX),
    }


def deletion_rule(kinds: Iterable[Kind]) -> JsonObject:
    """Return the rule for deletions of objects of all versions of the kinds."""
    return {
        "apiGroups": sorted({kind.group for kind in kinds}),
        "apiVersions": ["*"],
        "resources": ["*"],
        "operations": ["DELETE"],
        "scope": "Namespaced",
    }


def _rules(kinds: Iterable[Kind], suffix: str = "") -> list[JsonObject]:
    by_group: dict[str, list[Kind]] = {}
    for kind in kinds:
        by_group.setdefault(kind.group, []).append(kind)
    return [
        {
            "apiGroups": [group],
            "apiVersions": sorted(
                {v + suffix for kind in members for v in kind.versions}
            ),
            "resources": sorted(kind.plural for kind in members),
            "operations": ["CREATE", "UPDATE"],
            "scope": "Namespaced",
        }
        for group, members in sorted(by_group.items())
    ]
