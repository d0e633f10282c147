"""Values in Azure's answers that report how a resource is. Pure.

A spec has fields for some of them, as Azure accepts and ignores them in a PUT. A
manifest that is made from an answer leaves them out.
"""

from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.base.objects import JsonObject

_ANYWHERE = frozenset(
    {
        *("etag", "systemdata", "provisioningstate", "nodeimageversion"),
        *("peeringstate", "peeringsynclevel", "resourceguid"),
        *("profilemonitorstatus", "endpointmonitorstatus", "vaulturi", "discoveryurl"),
    }
)
_ADDRESS = "privateipaddress"
_METHOD = "privateipallocationmethod"


def is_reported(arm_type: str, path: str, body: JsonObject) -> bool:
    """Return whether a field only reports what Azure does.

    path: path of the field, as `spec.ipConfigurations[0].privateIPAddress`. body: the
    object of Azure's answer that holds the field.
    """
    plain = replace_elements(path, "").casefold().removeprefix("spec.")
    name = plain.rpartition(".")[2]
    if name in _ANYWHERE or plain in facts_of(arm_type).reported:
        return True
    inner = body.get("properties")
    given = {**body, **(inner if isinstance(inner, dict) else {})}
    values = {key.casefold(): value for key, value in given.items()}
    # An address that Azure chose: one of the method Static was asked for.
    if name == _ADDRESS:
        return values.get(_METHOD) == "Dynamic"
    return _is_azures(arm_type.lower(), plain, values)


def _is_azures(arm_type: str, plain: str, values: JsonObject) -> bool:
    """Return whether Azure filled in a field that an author could have written, too."""
    value = values.get(plain)
    match arm_type, plain:
        case _, "type":
            return str(value).casefold() == arm_type
        case "microsoft.containerservice/managedclusters", "serviceprincipalprofile":
            return value == {"clientId": "msi"}
        case "microsoft.containerservice/managedclusters", "identityprofile":
            # An identity that the author made is outside of the cluster's own group.
            own = f"/resourcegroups/{values.get('noderesourcegroup')}/".casefold()
            found = [*value.values()] if isinstance(value, dict) else []
            return bool(found) and all(own in str(one).casefold() for one in found)
        case "microsoft.web/sites", "hostnamesslstates":
            # Azure lists each host name; the author declares certificates alone.
            found = value if isinstance(value, list) else []
            states = [one.get("sslState") for one in found if isinstance(one, dict)]
            return bool(states) and all(state == "Disabled" for state in states)
    return False
