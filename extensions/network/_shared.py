"""Code that the kinds of Networking share: kept children, and late dependencies.

`children.json` has the writable fields of each child, by ARM type and api-version.
"""

from functools import cache
from importlib.resources import files

import orjson

from asoreconcile.azure.middleware.factories import (
    ChildShape,
    code,
    message_matches,
    reclassify,
)


@cache
def _shapes() -> dict[str, dict[str, ChildShape]]:
    text = (files(__package__) / "children.json").read_bytes()
    shapes: dict[str, dict[str, ChildShape]] = orjson.loads(text)["shapes"]
    return shapes


def shapes_of(arm_type: str) -> dict[str, ChildShape]:
    """Return the shapes of a type's children by api-version, for `keep_children`.

    A type is such as `Microsoft.Network/routeTables`. Raises KeyError for a type that
    has none.
    """
    return _shapes()[arm_type]


# The target of a DNS record does not exist yet: a Warning, retried soon.
RECORD_TARGET_IS_LATE = reclassify(
    code("BadRequest") & message_matches("The referenced resource.*was not found")
)
# The same for the target of an address or a peering.
REFERENCE_IS_LATE = reclassify(code("ReferencedResourceNotProvisioned"))
