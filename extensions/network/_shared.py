"""What the kinds of Networking share: kept children, and dependencies that come late.

What of a child may be written is in `children.json`, by ARM type and api-version.
"""

from functools import cache
from importlib.resources import files

import orjson

from asoreconcile.middleware.factories import (
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
    """The shapes of the children of a type, such as `Microsoft.Network/routeTables`.

    By api-version, as `keep_children` takes them. Raises KeyError for a type that has
    none.
    """
    return _shapes()[arm_type]


# What a DNS record points to comes late: a Warning, tried again soon.
RECORD_TARGET_IS_LATE = reclassify(
    code("BadRequest") & message_matches("The referenced resource.*was not found")
)
# So does what an address or a peering refers to.
REFERENCE_IS_LATE = reclassify(code("ReferencedResourceNotProvisioned"))
