"""The plans of lives: seeded sequences of actions over a small estate.

A plan is a list of steps, each a name and its arguments, so that it can be printed,
repeated and made shorter. `plan` draws one from a seed; `crossing` draws one in which
two features of the operator meet on one object.
"""

import random
from collections.abc import Callable, Sequence
from itertools import combinations

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_TYPES,
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    MAINTENANCE_WINDOWS,
    ON_IMMUTABLE,
    PAUSED,
    RECONCILE_AT,
    RECONCILE_POLICY,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE

# An hour each day; a life begins at midnight.
WINDOW_HOUR = 3
WINDOW = f"0 {WINDOW_HOUR} * * * 1h"
HOUR, DAY = 3600.0, 86400.0

# Roles of the objects of a life, and the roles that they need first. `twin` and `elsewhere` have
# the Azure id of `net`, `newgroup` that of `group`.
NEEDS = {
    "group": (),
    "newgroup": (),
    "net": ("group",),
    "twin": ("group",),
    "elsewhere": ("group",),
    "table": ("group",),
    "route": ("group", "table"),
    "account": ("group",),
}


@attrs.frozen
class Step:
    """One action: its name, the role or Namespace it is done to, and a value."""

    what: str
    at: str = ""
    value: str | None = None

    def __str__(self) -> str:
        said = " ".join(one for one in (self.what, self.at) if one)
        return said if self.value is None else f"{said} = {self.value}"


def note(at: str, name: str, value: str | None) -> Step:
    return Step(f"note {name}", at, value)


@attrs.frozen
class Feature:
    """A feature of the operator, or something that happens to it.

    begin: makes the steps that put it on an object. end: steps that take it away.
    """

    begin: Callable[[str], tuple[Step, ...]]
    end: Callable[[str], tuple[Step, ...]] = lambda _: ()


def _noted(name: str, value: str, *, by: str = "") -> Feature:
    return Feature(
        lambda at: (note(by or at, name, value),),
        lambda at: (note(by or at, name, None),),
    )


def _done(what: str, value: str | None = None) -> Feature:
    return Feature(lambda at: (Step(what, at, value),))


FEATURES = {
    "skip": _noted(RECONCILE_POLICY, "skip"),
    "detach": _noted(RECONCILE_POLICY, "detach-on-delete"),
    "if-exists-fail": _noted(IF_EXISTS, "fail"),
    "if-exists-same": _noted(IF_EXISTS, "adopt-if-same"),
    "observe": _noted(IF_EXISTS, "observe"),
    "protected": _noted(DELETION_PROTECTION, "true"),
    "protected-namespace": _noted(DELETION_PROTECTION, "true", by="namespace"),
    "paused": _noted(PAUSED, "true"),
    "windows": _noted(MAINTENANCE_WINDOWS, WINDOW),
    "never": _noted(SYNC_PERIOD, "never"),
    "report": _noted(SYNC_MODE, "report"),
    "put": _noted(SYNC_MODE, "put"),
    "ignore-fields": _noted(IGNORE_FIELDS, "spec.tags.ignored"),
    "foreign-tags": _noted(FOREIGN_TAGS, "replace"),
    "recreate": _noted(ON_IMMUTABLE, "recreate"),
    "namespace-skip": _noted(RECONCILE_POLICY, "skip", by="namespace"),
    "reach": _noted(ALLOWED_TYPES, "Microsoft.Network/*", by="namespace"),
    "asked": _done(f"note {RECONCILE_AT}", "now"),
    "twin": Feature(lambda _: (Step("apply", "twin"),), lambda _: (Step("delete", "twin"),)),
    "elsewhere": Feature(
        lambda _: (Step("apply", "elsewhere"),), lambda _: (Step("delete", "elsewhere"),)
    ),
    "owner-renamed": Feature(
        lambda at: (Step("apply", "newgroup"), Step("rename owner", at)),
        lambda _: (Step("delete", "group"),),
    ),
    "spoiled": Feature(lambda _: (Step("apply", "account"), Step("spoil"))),
    "foreign-tag": _done("foreign tag"),
    "gone": _done("remove"),
    "refused": Feature(lambda _: (Step("fault", value="PUT 403 RequestDenied"),)),
    "killed": _done("kill", "1"),
}  # fmt: skip
PAIRS = tuple(combinations(FEATURES, 2))
_EVENTS = (
    *("edit", "edit", "edit", "foreign value", "foreign tag", "remove", "make"),
    *("fault", "fault", "kill", "restart", "replace", "delete", "spoil", "time"),
)


_FAULTS = (
    *("GET 503 Busy", "GET 404 SubscriptionNotFound", "GET 403 AuthorizationFailed"),
    *("PUT 503 Busy", "PUT 409 Conflict", "DELETE 503 Busy", "DELETE 409 Conflict"),
)


def plan(seed: int, *, length: int = 8) -> list[Step]:
    """Return the steps of a life."""
    draw = random.Random(seed)
    roles = [*NEEDS]
    steps = [Step("apply", "group")]
    for _ in range(length):
        at = draw.choice(roles[2:])
        roll = draw.random()
        if roll < 0.25:
            steps.append(Step("apply", at))
        elif roll < 0.55:
            name = draw.choice([*FEATURES])
            # A route has no tags.
            at = "table" if at == "route" and name == "ignore-fields" else at
            feature = FEATURES[name]
            begun = feature.begin(at)
            steps += begun if draw.random() < 0.7 else feature.end(at) or begun
        else:
            steps.append(_event(draw, at))
    return steps


def _event(draw: random.Random, at: str) -> Step:
    what = draw.choice(_EVENTS)
    match what:
        case "time":
            return Step("time", value=str(draw.choice((60.0, HOUR, 4 * HOUR, DAY))))
        case "fault":
            return Step("fault", value=draw.choice(_FAULTS))
        case "kill":
            return Step("kill", at, str(draw.randint(0, 5)))
        case _:
            return Step("apply" if what == "edit" else what, at)


def crossing(pair: Sequence[str], seed: int) -> list[Step]:
    """Return the steps of a life in which two features meet on one object."""
    draw = random.Random(f"{pair}/{seed}")
    at = draw.choice(
        ("table", "net", "account") if "recreate" not in pair else ("table",)
    )
    if {"twin", "elsewhere"} & {*pair}:
        at = "net"
    one, other = (FEATURES[name] for name in draw.sample([*pair], 2))
    steps = [Step("apply", "group"), Step("apply", at)]
    steps[draw.randint(1, 2) : 1] = one.begin(at)
    steps += other.begin(at)
    if {"if-exists-fail", "if-exists-same", "observe"} & {*pair} and draw.randrange(2):
        # A colleague was there first.
        steps = [steps[0], Step("make", at), *other.begin(at), *steps[1:]]
    middle = [Step("apply", at), _event(draw, at), Step("time", value=str(HOUR))]
    draw.shuffle(middle)
    steps += middle
    for feature in draw.sample((one, other), draw.randint(0, 2)):
        steps += feature.end(at)
    return steps


def shorter(
    steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]
) -> list[Step]:
    """Return as few of the steps as still fail: none of them can be left out alone."""
    kept, size = [*steps], max(1, len(steps) // 2)
    while size:
        start = 0
        while start < len(kept):
            tried = kept[:start] + kept[start + size :]
            if tried and fails(tried):
                kept = tried
            else:
                start += size
        size //= 2
    return kept
