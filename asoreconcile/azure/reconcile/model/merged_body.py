"""Merge the body of a PUT with the values of others in Azure.

One pure function takes the declared body, the names that accepted PUTs declared, the
last read and the rules, and returns the body to send, the body to compare, and the rest
of the resource. The rules are the mode of foreign tags (OW-1), the ignored fields
(OW-2) and the values that Azure changes because the author has asked for it, as by
autoscaling (OW-8).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.azure.catalogue.ignored_fields import (
    ANY,
    IDS,
    Element,
    IgnoredField,
    Inside,
    PathStep,
)
from asoreconcile.azure.catalogue.type_facts import OWN, MovingValue
from asoreconcile.azure.middleware.declared import TAGS, Declared
from asoreconcile.azure.reconcile.model.differences import HIDDEN, partners
from asoreconcile.azure.reconcile.model.drift_baseline import fingerprint
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.base.objects import JsonObject

_NUMBERS = re.compile(r"\d+")
_DIGEST_DIGITS = 4
# References to a version; the group is the same in all versions. Bounded: each part
# excludes the character that follows it.
_VERSIONED = (
    re.compile(r"(https://[^/]*/(?:keys|secrets|certificates)/[^/]*)(?:/[^/]*)?"),
    re.compile(r"([^/_]*_[^/_]*)_[0-9a-f]{32}"),
    re.compile(r"(/.*)/versions/[^/]*"),
)


@attrs.frozen
class MergeRules:
    """The values that a PUT leaves alone.

    keeps_tags: whether tags of other writers are kept. looks_first: whether the first
    PUT is preceded by a read.
    """

    keeps_tags: bool = False
    looks_first: bool = False
    ignored: tuple[IgnoredField, ...] = ()
    moving: tuple[MovingValue, ...] = ()

    @property
    def digest(self) -> str:
        """A short hash of an object's rules; "" if only the rules of its type apply."""
        texts = sorted(field.text for field in self.ignored)
        if not texts and self.keeps_tags:
            return ""
        return fingerprint(self.keeps_tags, texts)[:_DIGEST_DIGITS]

    def __bool__(self) -> bool:
        return self.keeps_tags or bool(self.ignored or self.moving)


@attrs.frozen
class MergedBody:
    """The two bodies of an object and the rest of its resource.

    body: the body to send. wanted: the body to compare with the resource. shown: the
    resource without the values that the PUT leaves alone. tags: names of foreign tags
    in the body. unshown: ignored paths in the spec's words that Azure does not show.
    digest: the digest of the rules.
    """

    body: JsonObject = attrs.field(repr=False)
    wanted: JsonObject = attrs.field(repr=False)
    shown: JsonObject = attrs.field(repr=False)
    tags: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    digest: str = ""


def merged(
    body: JsonObject, have: JsonObject | None, rules: MergeRules, declared: Declared
) -> MergedBody:
    """Return the body completed with the values in Azure that this object must not
    change.

    body: the body of the spec and the extensions. have: the resource; None if it does
    not exist, so that nothing is merged. declared: the names that this object declares,
    and has declared before. No argument is changed.
    """
    if have is None:
        return MergedBody(body, body, {})
    shown = have
    for row in rules.moving:
        if not (
            row.keeps and declared.is_new_value(row.place, value_at(body, row.place))
        ):
            body, shown = _moved(row, body, have, shown)
    tags: tuple[str, ...] = ()
    if rules.keeps_tags:
        body, shown, tags = _with_foreign_tags(body, have, shown, declared)
    wanted, unshown = body, []
    for field in rules.ignored:
        merge = _Ignored(field.inside)
        body = merge.taken(body, have, field.steps)
        wanted = attrs.evolve(merge, hides=True).taken(wanted, have, field.steps)
        shown = _without(shown, field.steps)
        if merge.unshown:
            unshown.append(field.text)
    return MergedBody(body, wanted, shown, tags, tuple(unshown), rules.digest)


def _with_foreign_tags(
    body: JsonObject, have: JsonObject, shown: JsonObject, declared: Declared
) -> tuple[JsonObject, JsonObject, tuple[str, ...]]:
    theirs, ours = have.get(TAGS), body.get(TAGS)
    if not isinstance(theirs, dict):
        return body, shown, ()
    ours = _object(ours)
    own = {name.casefold() for name in ours}
    foreign = {
        name: value
        for name, value in theirs.items()
        if value is not None
        and name.casefold() not in own
        and not declared.is_withdrawn(TAGS, name)
    }
    if not foreign:
        return body, shown, ()
    left = {name: value for name, value in theirs.items() if name not in foreign}
    return {**body, TAGS: ours | foreign}, {**shown, TAGS: left}, tuple(foreign)


def _moved(
    row: MovingValue, body: JsonObject, have: JsonObject, shown: JsonObject
) -> tuple[JsonObject, JsonObject]:
    """Return the body and the rest of the resource after applying one row of the table
    of moving values.
    """
    if not row.inside:
        return _moved_in(row, body, have, shown, root=body, root_have=have)
    *above, leaf = row.inside.split("/")
    mine, theirs = (value_at(one, row.inside) for one in (body, have))
    if not isinstance(theirs, list):
        return body, shown
    ours = _list(mine)
    new, left = [*ours], [*_list(value_at(shown, row.inside))]
    found = partners(ours, theirs)
    if row.keeps == "set" and (None in found or len(ours) != len(theirs)):
        return body, shown
    for index, element in enumerate(theirs):
        at = found.index(index) if index in found else None
        want = {} if at is None else ours[at]
        if not isinstance(element, dict) or not isinstance(want, dict):
            continue
        want, left[index] = _moved_in(
            row, want, element, left[index], root=body, root_have=have
        )
        if at is not None:
            new[at] = want
    if new != ours:
        body = with_value(body, (*above, leaf), new)
    return body, with_value(shown, (*above, leaf), left) if left != theirs else shown


def _moved_in(
    row: MovingValue,
    want: JsonObject,
    have: JsonObject,
    shown: JsonObject,
    *,
    root: JsonObject,
    root_have: JsonObject,
) -> tuple[JsonObject, JsonObject]:
    in_root = row.switch.startswith("/")
    path = row.switch.removeprefix("/")
    stated = value_at(root if in_root else want, path)
    if stated is None:
        stated = value_at(root_have if in_root else have, path)
    is_on = stated not in (None, False, "")
    if row.on:
        is_on = any(is_same(one, stated) for one in row.on)
    theirs = value_at(have, row.moved)
    own = value_at(want, row.moved)
    if theirs is None or (row.switch and not is_on):
        return want, shown
    if row.keeps == "key" and key_of_version(own) != key_of_version(theirs):
        return want, shown
    steps = tuple(row.moved.split("/"))
    shown = _without(shown, steps)
    if own is None:
        return want, shown
    low, high = (_bound(one, want, have, own) for one in (row.low, row.high))
    value = _as_declared(own, theirs)
    if str(theirs).startswith(f"{own}."):
        value = own  # a part of a version, which Azure completes
    elif low is not None and _rank(theirs) < _rank(low):
        value = low
    elif high is not None and _rank(theirs) > _rank(high):
        value = high
    return (want if value == own else with_value(want, steps, value)), shown


def _as_declared(own: Any, theirs: Any) -> Any:
    """Return Azure's value with the members that the declared one has, if both are
    lists of objects: the others are read-only, or no object declares them.
    """
    both = own, theirs
    if not all(isinstance(one, list) and one for one in both):
        return theirs
    if not all(isinstance(one, dict) for some in both for one in some):
        return theirs
    names = {name.casefold() for one in own for name in one}
    return [
        {name: value for name, value in one.items() if name.casefold() in names}
        for one in theirs
    ]


def key_of_version(text: Any) -> str:
    """Return what a reference to a version of something refers to in all its versions.

    text: the URL of a key of a vault (`https://v.vault.azure.net/keys/k/1a2b`), its
    name as SQL writes it (`v_k_1a2b...`), or an id that ends in `/versions/1.0`; each
    may lack the version. Any other text is returned as it is, without letter case.
    """
    lower = str(text).casefold()
    for form in _VERSIONED:
        if found := form.fullmatch(lower):
            return found[1]
    return lower


def _bound(
    bound: str | float | None, want: JsonObject, have: JsonObject, own: Any
) -> Any:
    if bound == OWN:
        return own
    if not isinstance(bound, str):
        return bound
    found = value_at(want, bound)
    return value_at(have, bound) if found is None else found


def _rank(value: Any) -> tuple[float, ...]:
    """Return a sort key for numbers and for versions such as `1.31.4`."""
    if isinstance(value, int | float):
        return (float(value),)
    return tuple(float(digits) for digits in _NUMBERS.findall(str(value)))


@attrs.define
class _Ignored:
    """The merge of one ignored field.

    inside: the writable values at the field. hides: whether to hide a value that Azure
    does not show, so that it is not compared. unshown: whether there was such a value.
    """

    inside: Inside
    hides: bool = False
    unshown: bool = False

    def taken(self, want: Any, have: Any, steps: Sequence[PathStep]) -> Any:
        """Return the wanted value in which the ignored field has the resource's value.

        have: the resource's value; None if Azure does not show it.
        """
        if not steps:
            return self.all_of(want, have)
        if have is None and want is None:
            return want
        step, *rest = steps
        if isinstance(want, list) or isinstance(have, list):
            if step == ANY and not rest:
                return self.all_of(want, have)
            elements = self.elements(_list(want), _list(have), step, rest)
            return want if elements == _list(want) else elements
        ours, theirs = _object(want), _object(have)
        out = {**ours}
        for name in _keys(ours, theirs, step):
            its = _key(theirs, name)
            mine = _key(ours, its)  # a name that only Azure has is spelt as there
            value = self.taken(ours.get(mine), theirs.get(its), rest)
            if value is not None:
                out[mine] = value
        return want if out == ours else out

    def elements(
        self, want: list[Any], have: list[Any], step: PathStep, rest: Sequence[PathStep]
    ) -> list[Any]:
        out, found = [], partners(want, have)
        for index, mine in enumerate(want):
            at = found[index]
            theirs = None if at is None else have[at]
            meant = _is_meant(mine, step) or _is_meant(theirs, step)
            out.append(self.taken(mine, theirs, rest) if meant else mine)
        if not rest:
            # An element that only Azure has.
            known = frozenset(found)
            new = (one for i, one in enumerate(have) if i not in known)
            out += [self.all_of(None, one) for one in new if _is_meant(one, step)]
        return out

    def all_of(self, want: Any, have: Any) -> Any:
        """Return the writable part of the resource's value; the wanted value if no part
        is writable.
        """
        if have is not None and self.inside is not None:
            return _writable(self.inside, want, have)
        if want is not None:
            self.unshown = True
        return HIDDEN if self.hides and want is not None else want


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _is_meant(element: Any, step: PathStep) -> bool:
    return step.is_of(element) if isinstance(step, Element) else step == ANY


def _keys(ours: JsonObject, theirs: JsonObject, step: PathStep) -> list[str]:
    if isinstance(step, Element):
        return []
    if step != ANY:
        return [step]
    known = {name.casefold() for name in ours}
    return [*ours, *(name for name in theirs if name.casefold() not in known)]


def _key(found: JsonObject, name: str) -> str:
    """Return the key of an object that equals a name except for letter case; the name
    if no key equals it.
    """
    if name in found:
        return name
    return next((key for key in found if key.casefold() == name.casefold()), name)


def _writable(inside: Inside, want: Any, have: Any) -> Any:
    """Return the part of Azure's value that a PUT may contain, with the secrets of the
    spec.
    """
    if isinstance(have, list):
        mine = _list(want)
        by_index = {at: one for one, at in zip(mine, partners(mine, have), strict=True)}
        return [_writable(inside, by_index.get(i), one) for i, one in enumerate(have)]
    if inside == IDS and isinstance(have, dict):
        return {name: {} for name in have}
    if not isinstance(inside, Mapping) or not isinstance(have, dict):
        return have
    ours = _object(want)
    out: JsonObject = {}
    for name, value in have.items():
        inner = inside.get(name.casefold())
        if inner is not None and value is not None:
            out[name] = _writable(inner, ours.get(_key(ours, name)), value)
    secrets = (n for n in ours if inside.get(n.casefold(), True) is None)
    return out | {name: ours[name] for name in secrets}


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path, ignoring letter case; None without one."""
    for step in path.split("/"):
        value = value.get(_key(value, step)) if isinstance(value, dict) else None
    return value


def with_value(body: JsonObject, steps: Sequence[str], value: Any) -> JsonObject:
    """Return a body with a value at a path; names are compared without letter case."""
    head, *rest = steps
    head = _key(body, head)
    if rest:
        inner = body.get(head)
        value = with_value(_object(inner), rest, value)
    return {**body, head: value}


def _without(value: Any, steps: Sequence[PathStep]) -> Any:
    """Return a copy of a resource without the values at a path."""
    if not isinstance(value, dict | list) or not steps:
        return value
    step, *rest = steps
    if isinstance(value, list):
        if rest:
            return [_without(o, rest) if _is_meant(o, step) else o for o in value]
        return [one for one in value if not _is_meant(one, step)]
    meant = {_key(value, name) for name in _keys(value, {}, step)}
    if not rest:
        return {name: one for name, one in value.items() if name not in meant}
    return {
        name: _without(one, rest) if name in meant else one
        for name, one in value.items()
    }
