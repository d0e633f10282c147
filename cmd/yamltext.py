"""Write YAML for people and for kubectl."""

from collections.abc import Iterable
from typing import Any

import yaml

from asoreconcile.base.objects import JsonObject

try:
    from yaml import CSafeDumper as _BaseDumper
except ImportError:  # PyYAML built without libyaml: slower, same text
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]


class _Dumper(_BaseDumper):
    """A dumper without anchors: shared parts of a schema are written each time."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 -- PyYAML's signature
        return True


def yaml_text(documents: Iterable[JsonObject]) -> str:
    """Return the documents, each after a `---` line, with members in their
    given order.
    """
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
