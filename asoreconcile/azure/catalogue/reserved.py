"""Names of Secrets that the operator signs in with, serves with or signs records with.

No object may export to one of them: its author could choose the identity that the
operator uses in Azure, or forge the operator's records. No object may read one of them,
either: an author without the right to read Secrets could send the login to a resource
in Azure and read it there.
"""

from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    owner_references,
)

NAMESPACE_SECRET = "aso-credential"  # noqa: S105 - a Secret's name
SETTINGS_SECRET = "aso-controller-settings"  # noqa: S105 - a Secret's name
SERVING_SECRET = "asoreconcile-webhook-certificate"  # noqa: S105 - a Secret's name
RECORD_KEY_SECRET = "asoreconcile-record-key"  # noqa: S105 - a Secret's name

STAND_IN_PREFIX = "aso-credential."
"""Begins the name of a Secret of the operator's namespace whose credential deletes the
objects of a Namespace that is deleted together with its own; the Namespace's name
follows.
"""

EXPORT_MARK = "asoreconcile/export-mark"
"""The annotation of the operator on each Secret that it exports: a mark of its record
key. Kubernetes takes the owner reference off a Secret that outlives its owner, and
leaves this.
"""

_LOGIN_KEYS = "AZURE_"
# Each credential has them, whatever it signs in with.
_EACH_LOGIN = ("AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_ID")
_AZURE_GROUPS = ".azure.com"
_RESERVED = frozenset(
    {NAMESPACE_SECRET, SETTINGS_SECRET, SERVING_SECRET, RECORD_KEY_SECRET}
)


def is_reserved(name: str) -> bool:
    """Return whether objects may neither export to a Secret of this name nor read it,
    in any namespace.
    """
    return name in _RESERVED or name.startswith(STAND_IN_PREFIX)


def is_login(secret: JsonObject) -> bool:
    """Return whether a Secret that is named as a credential can be one: it has keys of
    a credential, and no Azure object exports it, as exports are never used as one.
    """
    has_keys = any(key.startswith(_LOGIN_KEYS) for key in secret.get("data") or {})
    return has_keys and not is_export(secret)


def holds_login(secret: JsonObject) -> bool:
    """Return whether a Secret has all that a credential needs, whatever names it now.

    An author can take the annotation off an object that names the Secret.
    """
    data = secret.get("data") or {}
    return all(data.get(key) for key in _EACH_LOGIN) and not is_export(secret)


def is_export(secret: JsonObject) -> bool:
    """Return whether an object of an Azure kind exports a Secret, or did.

    Any mark counts, also one of another operator or of a former key: the author of an
    exported Secret must not choose the identity of others.
    """
    groups = (
        str(reference.get("apiVersion") or "").rpartition("/")[0]
        for reference in owner_references(secret)
    )
    return EXPORT_MARK in annotations(secret) or any(
        group.endswith(_AZURE_GROUPS) for group in groups
    )


def export_parts(secret: ObjectKey) -> tuple[str, ...]:
    """Return the facts that the mark of an exported Secret is made from."""
    return "export", secret.namespace, secret.name
