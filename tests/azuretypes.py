"""Azure's own types, as far as tests need them: the fields that a PUT may write.

They are read from `bicep-types-az.tar.xz` of the recorded data.
"""

import json
import tarfile
from collections.abc import Collection
from pathlib import Path

import attrs

from asoreconcile.base.objects import JsonObject

READ_ONLY = 2


@attrs.frozen
class AzureType:
    """A type of Azure.

    members: flags and type, by name in lower case.
    other: type of members that are not named.
    element: type of a list's items.
    """

    members: dict[str, tuple[int, "AzureType"]] = attrs.field(factory=dict)
    other: "AzureType | None" = None
    element: "AzureType | None" = None
    is_secret: bool = False


ANYTHING = AzureType()


def read(
    path: Path, wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], AzureType]:
    """Return the existing types among those wanted, by (type in lower case,
    api-version).
    """
    spaces = {type_.partition("/")[0] for type_, _ in wanted}
    versions = {version for _, version in wanted}
    found = {}
    with tarfile.open(path) as tar:
        for member in tar:
            *_, space, version, name = ("", "", *member.name.split("/"))
            if name != "types.json" or space not in spaces or version not in versions:
                continue
            file = tar.extractfile(member)
            assert file is not None
            types = json.load(file)
            for one in types:
                if one["$type"] == "ResourceType":
                    key = (one["name"].lower().partition("@")[0], version)
                    if key in wanted:
                        found[key] = _built(types, _index(one["body"]), frozenset())
    return found


def _index(reference: JsonObject) -> int:
    return int(reference["$ref"].rpartition("/")[2])


def _built(types: list[JsonObject], index: int, within: frozenset[int]) -> AzureType:
    if index in within:
        return ANYTHING
    within |= {index}

    def inner(reference: JsonObject) -> AzureType:
        return _built(types, _index(reference), within)

    def members(properties: JsonObject) -> dict[str, tuple[int, AzureType]]:
        return {
            n.lower(): (p["flags"], inner(p["type"])) for n, p in properties.items()
        }

    one = types[index]
    match one["$type"]:
        case "ObjectType":
            other = one.get("additionalProperties")
            return AzureType(
                members=members(one["properties"]),
                other=inner(other) if other else None,
                is_secret=bool(one.get("sensitive")),
            )
        case "DiscriminatedObjectType":
            known = members(one["baseProperties"])
            for variant in one["elements"].values():
                known = {**inner(variant).members, **known}
            return AzureType(members=known)
        case "ArrayType":
            return AzureType(element=inner(one["itemType"]))
        case _:
            return AzureType(is_secret=bool(one.get("sensitive")))
