"""The tree of values that a version of a kind cannot hold.

A stored version keeps such values in the `$propertyBag` of each object (see
`property_bag`). A version that users write has no such field; there the tree becomes
one annotation:

    {"kept":   {field: value},            fields of this object that it cannot hold
     "bag":    {entry: text},             the same, as written in the object's bag
     "fields": {field or key: tree},      trees of its fields, or of a map's values
     "items":  {"length": n, "at": [[index, mark, tree], ...]}}    trees of list items

A list may be edited between two conversions, so its trees find their items by `mark`:
the item's name, else a digest of the item as the version showed it.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import attrs

from asoreconcile.azure.catalogue.property_bag import BAG, ConversionDataError
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

_PLAIN = re.compile("[^0-9a-z]+")


@attrs.frozen
class Tree:
    """The values kept for one JSON value; the module's text shows its JSON.

    kept: values in the form of the version that had them, or stored values, which
    contain bags. If a kept value is a string, its field has the type string.
    """

    kept: JsonObject = attrs.field(factory=dict)
    bag: JsonObject = attrs.field(factory=dict)
    fields: "dict[str, Tree]" = attrs.field(factory=dict)
    length: int = 0
    items: "tuple[tuple[int, str, Tree], ...]" = ()

    def __bool__(self) -> bool:
        return bool(self.kept or self.bag or self.fields or self.items)

    def to_json(self) -> JsonObject:
        """Return the tree as JSON for the annotation; empty members are left out."""
        made: JsonObject = {}
        if self.kept:
            made["kept"] = self.kept
        if self.bag:
            made["bag"] = self.bag
        if self.fields:
            made["fields"] = {k: t.to_json() for k, t in self.fields.items()}
        if self.items:
            at = [[index, mark, tree.to_json()] for index, mark, tree in self.items]
            made["items"] = {"length": self.length, "at": at}
        return made

    def paths(self, at: str = "") -> Iterator[str]:
        """Yield the path of each kept value: `spec.subnets[0].field`."""
        for name in self.kept:
            yield f"{at}.{name}".lstrip(".")
        for name in self.bag:
            yield f"{at}.{name[:1].lower()}{name[1:]}".lstrip(".")
        for name, tree in self.fields.items():
            yield from tree.paths(f"{at}.{name}".lstrip("."))
        for index, _, tree in self.items:
            yield from tree.paths(f"{at}[{index}]")

    def of_items(self, values: list[Any]) -> "list[Tree]":
        """Return the tree of each item of a list that may have been edited since.

        An item keeps its tree if its mark is still in the list. An item that was
        changed in place keeps its tree if the list has its old length. All other trees
        are dropped.
        """
        found: list[Tree] = [EMPTY] * len(values)
        free = {index: item_mark(value) for index, value in enumerate(values)}
        left: list[tuple[int, Tree]] = []
        for index, mark, tree in self.items:
            same = [i for i, m in free.items() if m == mark]
            if same:
                # Items may look alike, and most edits move them little.
                nearest = min(same, key=lambda i: abs(i - index))
                found[nearest] = tree
                del free[nearest]
            else:
                left.append((index, tree))
        if len(values) == self.length:
            for index, tree in left:
                if free.pop(index, None) is not None:
                    found[index] = tree
        return found

    def whole(self, value: Any) -> Any:
        """Return the value together with all values kept for it, as a stored value.

        This is for a version that shows none of the kept values. Entries of a bag are
        returned in a bag. Never changes the value; the result may share parts with it.
        """
        if not self:
            return value
        if isinstance(value, list):
            trees = self.of_items(value)
            return [t.whole(item) for t, item in zip(trees, value, strict=True)]
        if not isinstance(value, dict):
            return value
        own = {k: self.fields.get(k, EMPTY).whole(v) for k, v in value.items()}
        # A shown value counts before the value that was kept under its name.
        return {**self.kept, **own} | ({BAG: self.bag} if self.bag else {})


EMPTY = Tree()


def tree_of(raw: Any) -> Tree:
    """Return the tree that `Tree.to_json` wrote. Raises ConversionDataError for other
    input.
    """
    try:
        items = raw.get("items") or {"length": 0, "at": ()}
        return Tree(
            kept=dict(raw.get("kept") or {}),
            bag=dict(raw.get("bag") or {}),
            fields={k: tree_of(t) for k, t in (raw.get("fields") or {}).items()},
            length=int(items["length"]),
            items=tuple((int(i), str(m), tree_of(t)) for i, m, t in items["at"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConversionDataError(
            f"it is not what a conversion writes ({error})"
        ) from error


def item_mark(value: Any) -> str:
    """Return a text by which a list item is found again after the list was edited."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return f"name:{value['name']}"
    return digest(value)


def digest(value: Any) -> str:
    """Return a digest of JSON that does not depend on the order of object members."""
    text = jsontext.dumps(value, sort_keys=True)
    # Cut, as a list has one for each item, and all annotations share 256 KiB.
    return hashlib.sha256(text).hexdigest()[:16]


def plain(name: str) -> str:
    """Return a field's name without letter case and punctuation: `OsDisk` is
    `osDisk`.
    """
    return _PLAIN.sub("", name.lower())
