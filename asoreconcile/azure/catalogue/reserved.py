"""Names of Secrets that the operator signs in with, serves with or signs records with.

No object may export to one of them: its author could choose the identity that the
operator uses in Azure, or forge the operator's records.
"""

NAMESPACE_SECRET = "aso-credential"  # noqa: S105 - a Secret's name
SETTINGS_SECRET = "aso-controller-settings"  # noqa: S105 - a Secret's name
SERVING_SECRET = "asoreconcile-webhook-certificate"  # noqa: S105 - a Secret's name
RECORD_KEY_SECRET = "asoreconcile-record-key"  # noqa: S105 - a Secret's name

STAND_IN_PREFIX = "aso-credential."
"""Begins the name of a Secret of the operator's namespace whose credential deletes the
objects of a Namespace that is deleted together with its own; the Namespace's name
follows.
"""

_RESERVED = frozenset(
    {NAMESPACE_SECRET, SETTINGS_SECRET, SERVING_SECRET, RECORD_KEY_SECRET}
)


def is_reserved(name: str) -> bool:
    """Return whether a Secret's name is forbidden for exports, in any namespace."""
    return name in _RESERVED or name.startswith(STAND_IN_PREFIX)
