"""Check the values of the annotations that people write, when they are written. Pure.

Only a changed value is checked: an object that has a wrong one must stay manageable.
"""

from collections.abc import Callable, Mapping
from functools import partial

from asoreconcile.azure.catalogue.ignored_fields import (
    IgnoredFieldError,
    ignored_fields,
)
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.suggestions import closest, hint
from asoreconcile.azure.reconcile.model.annotation_bounds import (
    TOO_LONG,
    bounded,
    length_problems,
)
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    CREDENTIAL_FROM,
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    MAINTENANCE_WINDOWS,
    ON_IMMUTABLE,
    PAUSED,
    RECONCILE_AT,
    RECONCILE_POLICY,
    RECONCILED_AT,
    SYNC_PERIOD,
    WAIT_FOR_REFERENCES,
    is_operators_own,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS, IfExists
from asoreconcile.azure.reconcile.model.maintenance_windows import parse_windows
from asoreconcile.azure.reconcile.model.pace import parse_period, problem_in
from asoreconcile.azure.reconcile.model.recreation import OnImmutable
from asoreconcile.azure.reconcile.model.switches import Switch
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, ForeignTags
from asoreconcile.azure.reconcile.state.export_cache import EXPORTED, ROTATE
from asoreconcile.base.objects import JsonObject, annotations


def _one_of(*values: str) -> Callable[[str], str]:
    """Return a check that a value is one of these."""

    def check(value: str) -> str:
        if value in values:
            return ""
        near = hint(value.strip().lower(), values)
        return f"is {value!r}, which is none of {', '.join(values)}{near}"

    return check


RULES: Mapping[str, Callable[[str], str]] = {
    DELETION_PROTECTION: _one_of(*(one.value for one in Switch)),
    PAUSED: _one_of(*(one.value for one in Switch)),
    MAINTENANCE_WINDOWS: partial(problem_in, parse_windows),
    SYNC_PERIOD: partial(problem_in, parse_period),
    ALLOW_OWNER_CHANGE: _one_of(*(one.value for one in Switch)),
    RECONCILE_AT: lambda _value: "",
    IF_EXISTS: _one_of(*(one.value for one in IfExists)),
    WAIT_FOR_REFERENCES: _one_of(*(one.value for one in Switch)),
    FOREIGN_TAGS: _one_of(*(one.value for one in ForeignTags)),
    ON_IMMUTABLE: _one_of(*(one.value for one in OnImmutable)),
}
"""By annotation: returns what is wrong with a value, or "". An empty value is allowed
and counts as absent.
"""

_NAMES = {*RULES, IGNORE_FIELDS, SYNC_MODE, ROTATE, RECONCILE_POLICY, CREDENTIAL_FROM}
# Annotations that operators write and whose names look like one of these.
_WRITTEN = {
    EXPORTED,
    RECONCILED_AT,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
}


def annotation_problems(
    version: KindVersion | None, obj: JsonObject, old: JsonObject | None
) -> list[Problem]:
    """Return the problems of the values that differ from those of the old object.

    version: the object's kind; without it, ignored fields are not looked up.
    """
    before, after = annotations(old or {}), annotations(obj)
    long = length_problems(after, before)
    problems = [Problem(f"metadata.annotations[{name}]", long[name]) for name in long]
    # From here on a text that is too long is not read, however old it is.
    before, after = bounded(before), bounded(after)
    ignored = after.get(IGNORE_FIELDS) or ""
    if version is not None and ignored not in (before.get(IGNORE_FIELDS), TOO_LONG):
        try:
            ignored_fields(version, ignored)
        except IgnoredFieldError as error:
            where = f"metadata.annotations[{IGNORE_FIELDS}]"
            problems.append(Problem(where, str(error)))
    return problems + [
        Problem(f"metadata.annotations[{name}]", why)
        for name, check in RULES.items()
        if (value := after.get(name)) and value != before.get(name) and name not in long
        if (why := check(value))
    ]


def misspelt_names(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return a warning for each new annotation whose name looks like a misspelt
    annotation of the operator.
    """
    new = annotations(obj).keys() - annotations(old or {}).keys() - _NAMES - _WRITTEN
    return [
        f"annotation {name} has no effect; did you mean {near}?"
        for name in sorted(new)
        if is_operators_own(name)
        for near in _meant(name)
    ]


def _meant(name: str) -> list[str]:
    """Return the known names that are similar, or equal except for the prefix; [] if
    there are none.
    """
    # Without the prefix, which would make all names look alike.
    prefix, _, bare = name.partition("/")
    known = {
        one.partition("/")[2]: one
        for one in sorted(_NAMES)
        if one.startswith(f"{prefix}/") or one.endswith(f"/{bare}")
    }
    return [known[near] for near in closest(bare, known)]


def annotation_warnings(obj: JsonObject) -> list[str]:
    """Return what is wrong with the annotations of an object in the cluster."""
    problems = [str(problem) for problem in annotation_problems(None, obj, None)]
    return [*problems, *misspelt_names(obj, None)]
