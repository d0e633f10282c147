"""Secrets that the operator signs in with or serves with.

No object may export into one: who could write them would choose the identity of a whole
namespace acts in Azure.
"""

NAMESPACE_SECRET = "aso-credential"  # noqa: S105 - a Secret's name
SETTINGS_SECRET = "aso-controller-settings"  # noqa: S105 - a Secret's name
SERVING_SECRET = "asoreconcile-webhook-certificate"  # noqa: S105 - a Secret's name

_RESERVED = frozenset({NAMESPACE_SECRET, SETTINGS_SECRET, SERVING_SECRET})


def is_reserved(name: str) -> bool:
    """Whether a Secret's name is one that no export may have, in any namespace."""
    return name in _RESERVED
