"""Write YAML for people and for kubectl."""

from collections.abc import Iterable
from typing import Any

import yaml

from asoreconcile.azure.cmd.terminal import say_json, write
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.printable import acts, printable

try:
    from yaml import CSafeDumper as _BaseDumper
except ImportError:  # PyYAML built without libyaml: slower, same text
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]


class _Dumper(_BaseDumper):
    """A dumper without anchors: shared parts of a schema are written each time."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 -- PyYAML's signature
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        """Represent a text; quote characters that act on a terminal, so that
        `yaml_text` can escape them.
        """
        is_plain = data.isprintable() or not any(map(acts, data.replace("\n", "")))
        style = None if is_plain else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.text)


def write_documents(documents: Iterable[JsonObject], output: str) -> None:
    """Write documents as YAML, or as one line of JSON each if `output` is `json`."""
    if output == "json":
        for document in documents:
            say_json(document)
    else:
        write(yaml_text(documents))


def yaml_text(documents: Iterable[JsonObject]) -> str:
    """Return the documents, each after a `---` line, with members in their
    given order.
    """
    return "".join(
        "---\n"
        + printable(
            yaml.dump(
                document,
                Dumper=_Dumper,
                sort_keys=False,
                default_flow_style=False,
                allow_unicode=True,
            ),
            keep="\n",
        )
        for document in documents
    )
