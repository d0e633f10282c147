"""The actions that extensions call, at the api-versions of the objects, in Azure's own
types.
"""

import json
import tarfile
from collections import defaultdict
from importlib.resources import files

from datafolder import data_folder

from asoreconcile.azure import extensions
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind


def asked():
    """Yield row, ARM type, action, and api-version that is asked with."""
    rows = json.loads((files(extensions) / "cases.json").read_bytes())
    for name, row in rows.items():
        group, kind = name.split(".")
        for case in row["cases"]:
            if (export := case.get("export_keys")) is None:
                continue
            found = builtin().kind(GroupKind(f"{group}.azure.com", kind))
            # Some actions are those of a child: `children/name/listKeys`.
            *below, action = export["action"].split("/")
            for one in found.versions:
                version = found.version(one)
                type_ = "/".join((version.arm_type, *below[::2])).lower()
                own = version.api_version
                yield (
                    name,
                    f"{type_}/{action}".lower(),
                    export.get("api_versions", {}).get(own, own),
                    own,
                )


def test_azure_lists_each_action_at_the_version_that_is_asked_with():
    wanted = {row[1].partition("/")[0] for row in asked()}
    listed = defaultdict(set)
    with tarfile.open(data_folder("bicep-types-az.tar.xz")) as archive:
        for member in archive:
            parts = member.name.split("/")
            if parts[-1] != "types.json" or parts[-3].lower() not in wanted:
                continue
            for type_ in json.load(archive.extractfile(member)):
                if type_["$type"] == "ResourceFunctionType":
                    action = f"{type_['resourceType']}/{type_['name']}".lower()
                    listed[action].add(type_["apiVersion"])
    missing = [row for row in asked() if row[2] not in listed[row[1]]]
    assert not missing
    needless = [row for row in asked() if row[2] != row[3] and row[3] in listed[row[1]]]
    assert not needless
