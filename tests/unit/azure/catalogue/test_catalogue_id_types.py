"""The ids that are built say what they are of: deletions are guarded by that."""

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.paths import arm_id
from asoreconcile.azure.controllers.catalogue import builtin

SUBSCRIPTION = "11111111-1111-1111-1111-111111111111"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
OTHER = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/other"


def test_r5_2_the_id_of_every_kind_in_every_version_is_of_its_own_arm_type():
    """Else an object of that kind could never be deleted."""
    versions = [
        kind.version(name)
        for kind in builtin().kinds()
        if kind.is_arm
        for name in kind.versions
    ]
    assert len(versions) > 700
    wrong = [
        (str(version.gvk), found)
        for version in versions
        if (found := ids.parse(id_of(version)).type).lower() != version.arm_type.lower()
    ]
    assert wrong == []


def id_of(version):
    """An id as deep as the kind's chain of owners."""
    owner_id = OTHER if version.scope == "Extension" else GROUP
    if version.scope != "Extension" and version.owner is not None:
        owner_id = id_of(builtin().kind(version.owner).version())
    return arm_id(
        version,
        name=version.fixed_name or "name",
        owner_id=owner_id,
        subscription_id=SUBSCRIPTION,
    )
