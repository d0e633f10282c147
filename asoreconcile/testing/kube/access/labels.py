"""Label selectors in objects: matchLabels and matchExpressions. Pure."""

from collections.abc import Mapping
from typing import Any


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Return whether a selector selects these labels. {} and None select everything."""
    if not isinstance(selector, dict):
        return True
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    return all(_holds(e, labels) for e in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    name, values = expression.get("key"), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(str(name)) in values
        case "NotIn":
            return labels.get(str(name)) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
    return False
