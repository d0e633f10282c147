"""VirtualMachineScaleSet: extensions added elsewhere are kept; retried without quota.

`children.json` has the writable fields of an extension, by api-version.
"""

from importlib.resources import files

import orjson

from asoreconcile.azure.extensions.compute._shared import QUOTA_MAY_GROW
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    MODIFY_PAYLOAD,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children

EXTENSIONS = built_in("compute", "VirtualMachineScaleSet")

_SHAPES = orjson.loads((files(__package__) / "children.json").read_bytes())["shapes"]

EXTENSIONS.on(MODIFY_PAYLOAD)(
    keep_children(
        "properties.virtualMachineProfile.extensionProfile.extensions",
        shapes=_SHAPES["Microsoft.Compute/virtualMachineScaleSets"],
        rule=ChildMerge.MERGE_BY_NAME,
        # Azure leaves the profile out when there is no extension.
        parent_may_be_absent=True,
    )
)
EXTENSIONS.on(CLASSIFY_ERROR)(QUOTA_MAY_GROW)
