"""A resource id, taken apart. Ids are compared without case (I1, I2)."""

import re
import zlib

import attrs

_GROUP = re.compile(r"^/subscriptions/([^/]+)/resourcegroups/([^/]+)$", re.IGNORECASE)


@attrs.frozen
class ArmAddress:
    """One resource id.

    type: `namespace/type/subtype` in lower case.
    life: distinguishes a resource from a later one with the same id; it stays when the
    resource is moved. "" if the address belongs to no existing resource.
    """

    id: str
    scope: str
    type: str
    names: tuple[str, ...]
    life: str = attrs.field(default="", eq=False)

    @property
    def key(self) -> str:
        """Return the id in the form in which ids are compared."""
        return self.id.lower()

    @property
    def name(self) -> str:
        """Return the last name of the id, spelled as in the request.

        For a resource group, this is the group's name.
        """
        return self.names[-1]

    @property
    def namespace(self) -> str:
        """Return the provider in lower case: `microsoft.network`."""
        return self.type.partition("/")[0]

    @property
    def type_name(self) -> str:
        """Return the type, spelled as in the request."""
        if self.is_group:
            return "Microsoft.Resources/resourceGroups"
        namespace, *rest = self.id[len(self.scope) + len("/providers/") :].split("/")
        return "/".join([namespace, *rest[::2]])

    @property
    def is_group(self) -> bool:
        """Return whether this is a resource group itself."""
        return self.type == "microsoft.resources/resourcegroups"

    @property
    def parent(self) -> str:
        """Return the parent resource's id, or "" if there is no parent."""
        if len(self.names) < 2:
            return ""
        return self.id.rsplit("/", 2)[0]

    @property
    def group(self) -> str:
        """Return the resource group's id, or "" outside of any group."""
        return "/".join(self.id.split("/")[:5]) if _in_group(self.id) else ""

    @property
    def group_name(self) -> str:
        """Return the resource group's name without its path, or "" outside of any
        group.
        """
        return self.group.rpartition("/")[2]

    @property
    def subscription(self) -> str:
        """Return the subscription's id, or "" for tenant-scoped resources."""
        parts = self.id.split("/")
        return (
            parts[2] if len(parts) > 2 and parts[1].lower() == "subscriptions" else ""
        )

    @property
    def seed(self) -> int:
        """Return a number derived from the resource, for values that Azure would make
        up.
        """
        return zlib.crc32(self.key.encode())


def parse(path: str) -> ArmAddress | None:
    """Return the address of a resource's path, or None for collections and
    other paths.
    """
    path = path.rstrip("/")
    if match := _GROUP.match(path):
        return ArmAddress(path, "", "microsoft.resources/resourcegroups", (match[2],))
    at = path.lower().rfind("/providers/")
    if at < 0:
        return None
    namespace, *rest = path[at + len("/providers/") :].split("/")
    if not rest or len(rest) % 2 or not all(rest):
        return None
    kind = "/".join([namespace, *rest[::2]]).lower()
    return ArmAddress(path, path[:at], kind, tuple(rest[1::2]))


def _in_group(path: str) -> bool:
    parts = path.lower().split("/")
    return len(parts) > 4 and parts[3] == "resourcegroups"
