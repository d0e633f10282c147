"""Where a resource is: its id taken apart, compared without case (I1, I2)."""

import re
import zlib

import attrs

_GROUP = re.compile(r"^/subscriptions/([^/]+)/resourcegroups/([^/]+)$", re.IGNORECASE)


@attrs.frozen
class ArmAddress:
    """One resource id. type: `namespace/type/subtype` in lower case.

    life: what tells a resource from the next one that has its id; it stays when the
    resource is moved. "" while it is of no resource.
    """

    id: str
    scope: str
    type: str
    names: tuple[str, ...]
    life: str = attrs.field(default="", eq=False)

    @property
    def key(self) -> str:
        """The id as it is compared."""
        return self.id.lower()

    @property
    def name(self) -> str:
        """The last name of the id, in the casing it was addressed by; of a group, the
        group's.
        """
        return self.names[-1]

    @property
    def namespace(self) -> str:
        """The provider in lower case: `microsoft.network`."""
        return self.type.partition("/")[0]

    @property
    def type_name(self) -> str:
        """The type in the casing that it was asked for with."""
        if self.is_group:
            return "Microsoft.Resources/resourceGroups"
        namespace, *rest = self.id[len(self.scope) + len("/providers/") :].split("/")
        return "/".join([namespace, *rest[::2]])

    @property
    def is_group(self) -> bool:
        """True for a resource group itself, False for what is in one."""
        return self.type == "microsoft.resources/resourcegroups"

    @property
    def parent(self) -> str:
        """The parent resource's id; "" for one that has none."""
        if len(self.names) < 2:
            return ""
        return self.id.rsplit("/", 2)[0]

    @property
    def group(self) -> str:
        """The resource group's id; "" outside of any."""
        return "/".join(self.id.split("/")[:5]) if _in_group(self.id) else ""

    @property
    def group_name(self) -> str:
        """The resource group's name without its path; "" for what is in no group."""
        return self.group.rpartition("/")[2]

    @property
    def subscription(self) -> str:
        """The subscription; "" for tenant-scoped resources."""
        parts = self.id.split("/")
        return (
            parts[2] if len(parts) > 2 and parts[1].lower() == "subscriptions" else ""
        )

    @property
    def seed(self) -> int:
        """A number that is the resource's own, for values Azure would make up."""
        return zlib.crc32(self.key.encode())


def parse(path: str) -> ArmAddress | None:
    """The address of a resource's path; None for collections and anything else."""
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
