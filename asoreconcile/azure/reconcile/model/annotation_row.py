"""`Annotation`: the declaration of one annotation that people write. Pure.

Each policy declares its annotations in its own module, and `annotation_table` lists
them all. Everything else that must know annotations asks their rows: webhooks,
`asoctl`, wake-ups, reports of wrong values, settings and pages.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import attrs

from asoreconcile.azure.arm.text_bounds import PERSONS_ANNOTATION
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.annotation_bounds import TOO_LONG
from asoreconcile.base.foreign_text import LengthBound

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

_SHOWN = 40
_HELD = "nothing is written in Azure"


class Whose(Enum):
    """The objects whose value of an annotation counts; the values are for pages."""

    OBJECT = "objects"
    NAMESPACE = "Namespaces"
    NEAREST = "objects, then Namespaces"  # the object's own value, else its Namespace's
    EITHER = "objects and Namespaces"  # a switch: neither value lifts the other one
    TOGETHER = "objects and Namespaces, which add up"  # the values of both


@attrs.frozen
class Stated:
    """A value that counts for an object. on_namespace: whether the Namespace has it."""

    text: str
    on_namespace: bool


@attrs.frozen(eq=False)
class Annotation(Generic[T]):
    """The declaration of one annotation.

    name: name with its prefix. parse: returns the meaning of a value; raises ValueError
    with a sentence that says what is wrong with it. bound: bound of the length of a
    value; a longer value counts as wrong. whose: objects whose values count.

    if_wrong: meaning of a wrong value. effect: consequence of a wrong value, as a main
    clause. holds_writes: whether a wrong value keeps the operator from changing a
    resource in Azure.

    says: description for pages, in Markdown. values: description of its values, for
    pages. section: link to more about it, relative to `deploy/docs/`; "" if there is
    none.

    setting: name of the operator's setting with the value for objects without the
    annotation; "" if there is none. default: meaning without any value.

    check: checks a value of an object against its kind; raises as `parse`. is_arm_only:
    whether it counts only for kinds of ARM. counts_empty: whether an empty value
    counts; else it is the same as no value.

    in_deletion: whether a change matters to an object that is being deleted. matter:
    takes a value ("" for none) and whether the object is being deleted, and returns
    the part of the value that matters: changes that leave it equal wake no object.
    wakes_rivals: whether a change also wakes the objects that wait for this object's
    Azure id. wakes_containers: whether a change also wakes objects in deletion that the
    object refers to. changes_put: whether the value may change the body of a PUT.

    is_exported: whether a manifest for another cluster keeps the annotation.
    """

    name: str
    says: str
    effect: str
    parse: Callable[[str], T]
    whose: Whose = Whose.NEAREST
    values: str = ""
    section: str = ""
    if_wrong: T | None = None
    holds_writes: bool = False
    bound: LengthBound = PERSONS_ANNOTATION
    setting: str = ""
    default: T | None = None
    check: Callable[[KindVersion, str], object] | None = None
    is_arm_only: bool = False
    counts_empty: bool = False
    in_deletion: bool = False
    matter: Callable[[str, bool], object] | None = None
    wakes_rivals: bool = False
    wakes_containers: bool = False
    changes_put: bool = False
    is_exported: bool = True

    def __str__(self) -> str:
        return self.name

    def text(self, annotations: Mapping[str, str]) -> str | None:
        """Return the value in annotations of one object; None if there is none.

        An empty value is the same as no value, unless it counts (`counts_empty`).
        """
        value = annotations.get(self.name)
        return value if value or self.counts_empty else None

    def stated(
        self, own: Mapping[str, str], inherited: Mapping[str, str]
    ) -> tuple[Stated, ...]:
        """Return the values that count for an object; () if none is stated.

        own, inherited: the annotations of the object and of its Namespace.
        """
        mine, theirs = self.text(own), self.text(inherited)
        if mine is None and theirs is None:
            return ()
        found = []
        if mine is not None and self.whose is not Whose.NAMESPACE:
            found.append(Stated(mine, on_namespace=False))
        if theirs is not None and self.whose is not Whose.OBJECT:
            found.append(Stated(theirs, on_namespace=True))
        return tuple(found[:1] if self.whose is Whose.NEAREST else found)

    def value(
        self, own: Mapping[str, str], inherited: Mapping[str, str], default: T
    ) -> T | None:
        """Return the meaning of the value in force for an object; that of a wrong value
        is `if_wrong`. default: the meaning without a value.

        For one value only: of `Whose.EITHER` and `Whose.TOGETHER` use `stated`.
        """
        found = self.stated(own, inherited)
        return self.meaning(found[0].text) if found else default

    def meaning(self, text: str) -> T | None:
        """Return the meaning of a value; `if_wrong` if the value is wrong."""
        if self.problem(text):
            return self.if_wrong
        return self.parse(text)

    def problem(self, text: str) -> str:
        """Return what is wrong with a value, or ""."""
        if text == TOO_LONG:
            return f"has more than {self.bound.most} characters, so it is not read"
        if not self.bound.fits(text):
            return self.bound.problem(text)
        return _problem(self, text)

    def problem_for(self, version: KindVersion | None, text: str) -> str:
        """Return what is wrong with an object's own value, or "".

        version: the kind that it is checked against; None checks the value alone.
        """
        why = self.problem(text)
        if why or self.check is None or version is None:
            return why
        try:
            self.check(version, text)
        except ValueError as error:
            return str(error)
        return ""

    def reports(
        self,
        own: Mapping[str, str],
        inherited: Mapping[str, str],
        version: KindVersion | None = None,
    ) -> Iterator[str]:
        """Yield a sentence for each value that counts and is wrong, and for a value at
        a place that does not count.

        version: the object's kind, which its own value is checked against; a
        Namespace's may be meant for other kinds.
        """
        for one in self.stated(own, inherited):
            kind = None if one.on_namespace else version
            if why := self.problem_for(kind, one.text):
                yield _sentence(self, one, why)
        if why := self.misplaced(own, on_namespace=False):
            yield why
        if why := self.misplaced(inherited, on_namespace=True):
            yield why

    def misplaced(self, annotations: Mapping[str, str], *, on_namespace: bool) -> str:
        """Return a sentence if annotations have this one although it has no effect on
        them, or "". on_namespace: whether they are a Namespace's.
        """
        nowhere = Whose.OBJECT if on_namespace else Whose.NAMESPACE
        if self.whose is not nowhere or self.text(annotations) is None:
            return ""
        if on_namespace:
            return (
                f"the Namespace's annotation {self.name} has no effect: it counts on "
                "objects alone"
            )
        return (
            f"annotation {self.name} has no effect on an object: it counts on a "
            "Namespace alone"
        )

    def is_changed(
        self,
        before: Mapping[str, str],
        after: Mapping[str, str],
        *,
        on_namespace: bool,
        deleting: bool,
    ) -> bool:
        """Return whether a change of annotations is a reason to reconcile.

        before, after: annotations of one object, or of one Namespace (on_namespace).
        deleting: whether the object that would be reconciled is being deleted.
        """
        old, new = self.text(before), self.text(after)
        if old == new:
            return False
        if self.whose is (Whose.OBJECT if on_namespace else Whose.NAMESPACE):
            # Only its report changes, and a Namespace's does not wake all its objects.
            return not on_namespace and (old is None) != (new is None)
        return self._part(old, deleting) != self._part(new, deleting)

    def concerns(
        self,
        own: Mapping[str, str],
        before: Mapping[str, str],
        after: Mapping[str, str],
        *,
        deleting: bool,
    ) -> bool:
        """Return whether a change of a Namespace's annotations is a reason to reconcile
        an object of it. own: the object's annotations; the rest as `is_changed`.
        """
        if self.whose is Whose.NEAREST and self.text(own) is not None:
            return False
        return self.is_changed(before, after, on_namespace=True, deleting=deleting)

    def is_lifted(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Return whether a change of an object's annotations takes it back to the
        default.
        """
        old, new = (
            self.default if text is None else self.meaning(text)
            for text in (self.text(before), self.text(after))
        )
        return old != self.default and new == self.default

    def _part(self, text: str | None, deleting: bool) -> object:
        """Return the part of a value whose change needs a reconcile. Whether the value
        is wrong is always a part, as the report of it must follow.
        """
        why = "" if text is None else self.problem(text)
        if self.matter is not None:
            return self.matter(text or "", deleting), why
        return (None if deleting and not self.in_deletion else text), why


# Values are short texts, and most objects have the same ones.
@lru_cache(maxsize=1024)
def _problem(row: Annotation[Any], text: str) -> str:
    try:
        row.parse(text)
    except ValueError as error:
        return str(error)
    return ""


def _sentence(row: Annotation[Any], stated: Stated, why: str) -> str:
    what = "the Namespace's annotation" if stated.on_namespace else "annotation"
    colon = "" if why.startswith(("is ", "has ")) else ":"
    end = "" if why.endswith("?") else "."
    effect = _HELD if stated.text == TOO_LONG else row.effect
    return f"{what} {row.name}{colon} {why}{end} Until it is corrected, {effect}"


def shown(value: str) -> str:
    """Return a value, or its beginning if it is long, for a message."""
    return value if len(value) <= _SHOWN else value[:_SHOWN] + "..."


def choice(enum: type[E]) -> Callable[[str], E]:
    """Return a parser of the values of an enum; case matters."""
    known: Final = [str(one.value) for one in enum]

    def parse(text: str) -> E:
        try:
            return enum(text)
        except ValueError:
            near = hint(shown(text).strip().lower(), known)
            raise ValueError(
                f"is {shown(text)!r}, which is none of {', '.join(known)}{near}"
            ) from None

    return parse


def any_text(text: str) -> str:
    """Return a value that may be any text."""
    return text
