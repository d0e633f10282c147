"""The target of a fault: a resource type, with a name if it means one resource."""

import re

_GROUPS = "microsoft.resources/resourcegroups"


def resource_pattern(target: str) -> str:
    """Return the pattern of the ids that a target means, for `ArmFaults`.

    target: `Microsoft.Network/virtualNetworks`, `...virtualNetworks/subnets:default`
    for one name, or `*`. Raises ValueError.
    """
    if target == "*":
        return ".*"
    type_, _, name = target.partition(":")
    namespace, *types = type_.split("/")
    if not namespace or not types or not all(types):
        message = f"{target!r} is no resource type like Microsoft.Network/vnets[:NAME]"
        raise ValueError(message)
    last = re.escape(name) if name else "[^/]+"
    if type_.lower() == _GROUPS:
        return f"/resourceGroups/{last}$"
    inner = "/[^/]+/".join(re.escape(part) for part in types)
    return f"/providers/{re.escape(namespace)}/{inner}/{last}$"


def path_pattern(target: str, method: str) -> str:
    """Return the pattern of the request paths of a target; a POST ends with
    an action.
    """
    pattern = resource_pattern(target)
    if method == "POST" and pattern.endswith("$"):
        return f"{pattern[:-1]}/[^/]+$"
    return pattern
