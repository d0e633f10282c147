"""YAML text for a person and for kubectl."""

from collections.abc import Iterable
from typing import Any

import yaml

from asoreconcile.base.objects import JsonObject

try:
    from yaml import CSafeDumper as _BaseDumper
except ImportError:  # PyYAML built without libyaml: slower, same text
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]


class _Dumper(_BaseDumper):
    """Without anchors: shared parts of a schema are written out where they stand."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 -- PyYAML's signature
        return True


def yaml_text(documents: Iterable[JsonObject]) -> str:
    """The documents, each after a `---` line, members in the order they have."""
    return "".join(
        "---\n"
        + yaml.dump(
            document,
            Dumper=_Dumper,
            sort_keys=False,
            default_flow_style=False,
            allow_unicode=True,
        )
        for document in documents
    )
