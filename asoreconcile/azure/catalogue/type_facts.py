"""Facts about resource types that Azure's published types do not have.

`type_facts.json` has them by ARM type, in lower case; a name without a slash is a
provider. All members are optional:

    immutable    fields that cannot be changed once a resource was made. The name and
                 the location of a resource never change, whatever its type (OW-6)
    moving       values that Azure moves by itself because the spec asks for it, by an
                 autoscaler, the growth of a disk or automatic upgrades (OW-8)
    guarded      versions, keys, priorities, regions and replicas: if the spec did not
                 change, a sync does not put them back unless a client changed them, as
                 Azure or a fail-over may have (OW-8)
    autoscaled   the value that an autoscale setting of Azure Monitor moves
    holdsData    `alone`, or `with all below` if types below this one do, too: a
                 deletion loses something for good (OW-6). Besides data this is a name
                 that stays taken, or a resource that others know: a new identity is
                 another principal, a new DNS zone has other name servers. Types below
                 one that is `alone` hold nothing, such as the agent pools of a cluster
    unspecified  members that a PUT may write although no field of the spec does
    reported     fields of the spec with which Azure reports how a resource is
    stored       values that Azure accepts and stores differently, so that another PUT
                 would not help (`type_rules`)
    neverShown   fields that Azure uses and does not show, although the type's answers
                 have them
    afterSuccess types whose resources must exist before Azure accepts a reference to
    them
    inside       children that the body of this type contains, too: by the child's id
                 below the resource, the field; a list is a whole collection of children
    createdIsNew of a provider: it answers a PUT with 201 for new resources only
    hosts        of a provider: the types below which its extension resources exist

The facts about stored values, values that are never shown and types to make first were
seen in recorded traffic. Paths are those of a PUT's body, with dots in `inside`; of
`reported`, they are those of the spec. A `source` is `types`, the descriptions in the
published types (Azure/bicep-types-az); `TF:` and a page of
registry.terraform.io/providers/hashicorp/azurerm/latest/docs/ resources/; the answer of
Azure; or another address. A field or value without a source is not in the table.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

OWN: Final = "own value"
"""A bound that stands for the value which the spec itself declares."""


@attrs.frozen
class MovingValue:
    """A value of a type's bodies that Azure moves.

    moved: its path, as `properties/count`. switch: the path of the value that lets
    Azure move it; "" if something outside of the body does. on: the values that switch
    on; empty means that any value does. low, high: the path of a bound, a number, or
    OWN; None if there is no bound. inside: the path of a list; moved and bounds are in
    its elements, and so is the switch unless it begins with "/".
    """

    moved: str
    switch: str = ""
    on: tuple[object, ...] = attrs.field(default=(), converter=tuple)
    low: str | float | None = None
    high: str | float | None = None
    inside: str = ""
    keeps: Literal["", "key", "set"] = ""
    by_owner: str = ""

    @property
    def place(self) -> str:
        """The path of the whole declared value."""
        return self.inside or self.moved


@attrs.frozen
class StoredValue:
    """A value that Azure stores differently from the PUT.

    path: path in lower case, with lists as `x[]`. keeps, values: name and values of the
    rule of `type_rules` that says which value Azure stores. kind: kind of the
    difference.
    """

    path: str
    keeps: str
    values: tuple[object, ...] = attrs.field(default=(), converter=tuple)
    kind: str = "value"


@attrs.frozen
class ArmTypeFacts:
    """The facts about one type or provider; the module's docstring explains the
    members.
    """

    immutable: tuple[str, ...] = ()
    moving: tuple[MovingValue, ...] = ()
    guarded: tuple[MovingValue, ...] = ()
    autoscaled: str = ""
    holds_data: str = ""
    unspecified: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    stored: tuple[StoredValue, ...] = ()
    never_shown: tuple[str, ...] = ()
    after_success: tuple[str, ...] = ()
    inside: Mapping[str, str] = attrs.field(factory=dict)
    created_is_new: bool = False
    hosts: tuple[str, ...] | None = None


_NONE = ArmTypeFacts()


@cache
def type_facts() -> Mapping[str, ArmTypeFacts]:
    """Return the facts by ARM type, in lower case; read once."""
    text = (files("asoreconcile.azure.catalogue") / "type_facts.json").read_bytes()
    return {type_: _facts(raw) for type_, raw in jsontext.loads(text).items()}


def facts_of(arm_type: str) -> ArmTypeFacts:
    """Return the facts about a type or provider; letter case is ignored."""
    return type_facts().get(arm_type.lower(), _NONE)


def holds_data(arm_type: str) -> bool:
    """Return whether a deletion of a resource of this type destroys something. Such a
    resource is never deleted in order to be made again.
    """
    name = f"{arm_type.lower()}/"
    return bool(facts_of(arm_type).holds_data) or any(
        facts.holds_data == "with all below" and name.startswith(f"{one}/")
        for one, facts in type_facts().items()
    )


def _facts(raw: JsonObject) -> ArmTypeFacts:
    def member(name: str, of: str) -> Any:
        return raw.get(name, {}).get(of, ())

    hosts = raw.get("hosts")
    return ArmTypeFacts(
        immutable=tuple(member("immutable", "paths")),
        moving=tuple(MovingValue(**one) for one in member("moving", "values")),
        guarded=tuple(MovingValue(**one) for one in member("guarded", "values")),
        autoscaled=str(member("autoscaled", "path") or ""),
        holds_data=raw.get("holdsData", ""),
        unspecified=tuple(raw.get("unspecified", ())),
        reported=tuple(raw.get("reported", ())),
        stored=tuple(StoredValue(**one) for one in raw.get("stored", ())),
        never_shown=tuple(raw.get("neverShown", ())),
        after_success=tuple(member("afterSuccess", "types")),
        inside=raw.get("inside", {}),
        created_is_new=raw.get("createdIsNew", False),
        hosts=None if hosts is None else tuple(hosts),
    )
