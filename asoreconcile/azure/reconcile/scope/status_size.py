"""Cut a status to what the cluster stores. Pure.

etcd stores 1.5 MiB by default. A larger status would be refused as a whole, conditions
included, and nobody could read why. So the largest members are left out.
"""

from asoreconcile.base.jsontext import dumps
from asoreconcile.base.objects import JsonObject

MAX_OBJECT_BYTES = 1 << 20
"""Of an object in JSON: what is left to 1.5 MiB is for managedFields, which we do not
see, and for a spec that grows.
"""

# Small, and used by others.
_KEPT = frozenset({"conditions", "id", "name", "type", "provisioningState"})


def json_size(value: JsonObject) -> int:
    """The length of an object's JSON in bytes, as a request would carry it."""
    return len(dumps(value))


def fitted(status: JsonObject, room: int) -> tuple[JsonObject, list[str]]:
    """The status in at most `room` bytes, and the names of the members left out.

    Members are left out whole, the largest first: half of a list would look complete.
    The conditions and the id always stay.
    """
    if json_size(status) <= room:
        return status, []
    sizes = {name: len(dumps(value)) for name, value in status.items()}
    # Each has its quoted name, a colon and a comma.
    total = 2 + sum(len(name) + 4 + size for name, size in sizes.items())
    left_out: list[str] = []
    for name in sorted(sizes.keys() - _KEPT, key=lambda n: (-sizes[n], n)):
        if total <= room:
            break
        left_out.append(name)
        total -= len(name) + 4 + sizes[name]
    kept = {name: value for name, value in status.items() if name not in left_out}
    return kept, left_out
