"""CRDs from classes equal those that controller-gen makes of equal Go types, field by
field.

`controllergen/types.go` has the types. The CRD that controller-gen made of them is
recorded in the same folder, without the texts of Kubernetes' own types. If Go and its
modules are installed (`go mod download` in that folder), the CRD is made again and
compared with the record.
"""

import os
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest
import yaml

from asoreconcile import (
    Conditions,
    ObjectMeta,
    PrinterColumn,
    Quantity,
    Rule,
    ScalePaths,
    Schema,
    crd_of,
    resource,
)

FOLDER = Path(__file__).parent / "controllergen"
RECORD = FOLDER / "websites.yaml"


@attrs.define
class Port:
    """A port of it."""

    name: Annotated[str, "The name of the port.", Schema(min_length=1)]
    number: Annotated[int, Schema(minimum=1, maximum=65535)] = 80
    target: int | str | None = None


Tier = Annotated[Literal["small", "large"], "How much it serves."]


@attrs.define
class WebsiteSpec:
    """What is wanted."""

    host: Annotated[
        str,
        "The whole name.",
        Schema(pattern=r"^[a-z0-9.-]+$", max_length=253, immutable=True),
    ]
    maybe: Annotated[int | None, Schema(multiple_of=2)]
    replicas: Annotated[int, Schema(minimum=0)] = 1
    tier: Tier = "small"
    labels: dict[str, str] = attrs.field(factory=dict)
    ports: Annotated[list[Port], Schema(map_keys=["name"], max_length=10)] = (
        attrs.field(factory=list)
    )
    aliases: Annotated[list[str], Schema(unique=True)] = attrs.field(factory=list)
    order: Annotated[list[int], Schema(atomic=True)] = attrs.field(factory=list)
    memory: Quantity | None = None
    quota: dict[str, Quantity] = attrs.field(factory=dict)
    until: datetime | None = None
    every: timedelta | None = None
    address: Annotated[str | None, Schema(format="ipv4")] = None
    blob: bytes | None = None
    extra: dict[str, Any] | None = None
    first: Annotated[Port | None, Schema(atomic=True)] = None
    enabled: bool = False


@attrs.define
class WebsiteStatus:
    """What there is."""

    replicas: int | None = None
    selector: str | None = None
    conditions: Conditions = attrs.field(factory=list)


@resource(
    "typed.example.com/v1",
    plural="websites",
    short_names=["web", "site"],
    categories=["all"],
    columns=[
        PrinterColumn("Host", ".spec.host", description="Where it is."),
        PrinterColumn("Replicas", ".spec.replicas", wide=True),
        PrinterColumn("Until", ".spec.until"),
        PrinterColumn("Age", ".metadata.creationTimestamp"),
    ],
    scale=ScalePaths(selector=".status.selector"),
    selectable=[".spec.host"],
    rules=[
        Rule(
            "self.spec.tier == 'large' || self.spec.replicas <= 5", "5 at most if small"
        )
    ],
)
@attrs.define
class Website:
    """A site with a name of its own."""

    metadata: ObjectMeta
    spec: WebsiteSpec
    status: WebsiteStatus = attrs.field(factory=WebsiteStatus)


def without_foreign_texts(crd: dict[str, Any]) -> dict[str, Any]:
    """A CRD without the tool's mark, and without what Kubernetes says of its own
    types: each side has words of its own for that.
    """
    crd["metadata"].pop("annotations", None)
    for version in crd["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]
        condition = fields["status"]["properties"]["conditions"]["items"]
        for one in (
            fields["apiVersion"],
            fields["kind"],
            condition,
            *condition["properties"].values(),
        ):
            one.pop("description", None)
    return crd


def fields(value: Any, path: str = "") -> dict[str, Any]:
    """Each leaf of a document by its path."""
    if isinstance(value, dict) and value:
        pairs = [(f"{path}.{name}", one) for name, one in value.items()]
    elif isinstance(value, list) and value:
        pairs = [(f"{path}[{index}]", one) for index, one in enumerate(value)]
    else:
        return {path: value}
    return {k: v for inner, one in pairs for k, v in fields(one, inner).items()}


def test_each_field_is_as_controller_gen_has_it():
    ours = fields(without_foreign_texts(crd_of(Website)))
    theirs = fields(yaml.safe_load(RECORD.read_text()))
    assert len(theirs) > 130
    assert ours == theirs


def generated() -> dict[str, Any]:
    """Return the CRD that controller-gen makes of the types now; skip the test if it
    cannot run.
    """
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("controller-gen needs Go, which is not there")
    # Its modules are not fetched by a test.
    offline = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=readonly"}
    answer = subprocess.run(
        [go, "tool", "controller-gen", "crd", "paths=.", "output:stdout"],
        cwd=FOLDER,
        env=offline,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    if "module lookup disabled" in answer.stderr:
        pytest.skip(f"its modules are not there: go mod download, in {FOLDER.name}")
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = yaml.safe_load(answer.stdout)
    return found


@pytest.mark.timeout(600)  # the first run compiles it
def test_the_record_is_what_controller_gen_makes_of_the_go_types():
    made = without_foreign_texts(generated())
    assert made == yaml.safe_load(RECORD.read_text())


if __name__ == "__main__":  # record once more
    sys.stdout.write(yaml.safe_dump(without_foreign_texts(generated())))
