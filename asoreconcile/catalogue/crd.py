"""The CustomResourceDefinition of a kind."""

from collections.abc import Iterable

from asoreconcile.catalogue.kinds import Kind, KindVersion, newest
from asoreconcile.objects import JsonObject

_COLUMNS = {
    "Ready": "status",
    "Severity": "severity",
    "Reason": "reason",
    "Message": "message",
}


def crd(kind: Kind, *, versions: Iterable[str] = (), storage: str = "") -> JsonObject:
    """A CustomResourceDefinition (apiextensions.k8s.io/v1) serving some versions.

    versions: names, served in the kind's own order; none: the kind's storage version.
    storage: the stored one of them; without it the kind's own if served, else the
    newest served. Serving several this way is safe only while their schemas keep each
    other's fields: there is no conversion.
    Raises UnknownVersionError. The schemas are shared with the catalogue: nobody may
    change the answer in place.
    """
    wanted = set(versions) or {kind.storage}
    made = {name: kind.version(name) for name in sorted(wanted)}
    served = [name for name in kind.versions if name in made]
    if not storage:
        storage = kind.storage if kind.storage in made else newest(served)
    name = kind.group_kind.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group_kind.group}"},
        "spec": {
            "group": kind.group_kind.group,
            "names": {
                "categories": list(kind.categories),
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "singular": name.lower(),
            },
            "scope": "Namespaced",
            "versions": [
                _version(made[served_name], stored=served_name == storage)
                for served_name in served
            ],
        },
    }


def _version(version: KindVersion, *, stored: bool) -> JsonObject:
    return {
        "name": version.gvk.version,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": version.schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {
                "name": name,
                "type": "string",
                "jsonPath": f".status.conditions[?(@.type=='Ready')].{member}",
            }
            for name, member in _COLUMNS.items()
        ],
    }
