"""The rules of an object's merged body, from annotations, settings and its type. Pure.

Rules: OW-1, OW-2, OW-8.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from asoreconcile.azure.catalogue.ignored_fields import (
    IgnoredFieldError,
    check_paths,
    ignored_fields,
)
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.type_facts import MovingValue, facts_of
from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
)
from asoreconcile.azure.reconcile.model.annotations import IGNORE_FIELDS
from asoreconcile.azure.reconcile.model.merged_body import MergeRules
from asoreconcile.azure.reconcile.model.sync_mode import (
    FOREIGN_TAGS_ROW,
    ForeignTags,
)
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    dig,
    key_of,
    spec,
)


def parse_ignored(text: str) -> str:
    """Return a list of paths as it is written. Raises ValueError for a text that cannot
    be read as a list of paths.
    """
    try:
        check_paths(text)
    except IgnoredFieldError as error:
        raise ValueError(str(error)) from error
    return text


def _check_ignored(version: KindVersion, text: str) -> None:
    try:
        ignored_fields(version, text)
    except IgnoredFieldError as error:
        raise ValueError(str(error)) from error


IGNORE_FIELDS_ROW: Annotation[str] = Annotation(
    IGNORE_FIELDS,
    says="fields of the spec that only the first PUT sets; later PUTs leave them as "
    "Azure has them. The lists of object, Namespace and operator add up",
    values="paths such as `spec.tags.costcenter`, separated by commas",
    section="#fields-that-you-set-once",
    effect="nothing is written in Azure",
    parse=parse_ignored,
    whose=Whose.TOGETHER,
    holds_writes=True,
    setting="ASORECONCILE_IGNORE_FIELDS",
    default="",
    check=_check_ignored,
    is_arm_only=True,
    changes_put=True,
)
AUTOSCALE_SETTING = GroupKind("insights.azure.com", "AutoscaleSetting")


def merge_rules(
    version: KindVersion,
    own: Mapping[str, str],
    inherited: Mapping[str, str],
    *,
    foreign_tags: ForeignTags = ForeignTags.KEEP,
    ignore_fields: str = "",
    autoscaled: MovingValue | None = None,
    owner_of: Callable[[], JsonObject | None] = lambda: None,
) -> MergeRules:
    """Return the rules of an object's PUTs.

    own, inherited: the annotations of the object and of its Namespace. foreign_tags,
    ignore_fields: the operator's settings. autoscaled: the result of `autoscaled_by`.
    owner_of: returns the owner's object; without one in the cluster a switch there
    counts as on: in doubt a version is not taken back.
    Raises IgnoredFieldError for a path of the object that its kind does not have, and
    for a list that cannot be read: a misspelt path must not let a PUT overwrite the
    field.
    """
    if why := "; ".join(IGNORE_FIELDS_ROW.reports(own, inherited, version)):
        raise IgnoredFieldError(why)
    moving = facts_of(version.arm_type).moving
    if any(row.by_owner for row in moving):
        owner = owner_of()
        moving = tuple(row for row in moving if _may_move(row, owner))
    mode = FOREIGN_TAGS_ROW.value(own, inherited, foreign_tags)
    has_tags = any(field.path == ("tags",) for field in version.table.fields)
    return MergeRules(
        keeps_tags=has_tags and mode is ForeignTags.KEEP,
        looks_first=mode is ForeignTags.KEEP,
        ignored=ignored_fields(
            version,
            IGNORE_FIELDS_ROW.text(own) or "",
            (IGNORE_FIELDS_ROW.text(inherited) or "", ignore_fields),
        ),
        moving=moving if autoscaled is None else (*moving, autoscaled),
    )


def autoscaled_by(
    version: KindVersion,
    key: ObjectKey,
    arm_id: str,
    settings: Iterable[JsonObject],
) -> MovingValue | None:
    """Return the value that an autoscale setting of Azure Monitor changes; None if no
    enabled setting targets the resource.

    key, arm_id: the resource's object and id. settings: the objects of that kind.
    """
    moved = facts_of(version.arm_type).autoscaled
    for setting in settings if moved else ():
        stated = spec(setting)
        target = stated.get("targetResourceUriReference") or {}
        by_name = (target.get("kind"), target.get("name"), key_of(setting).namespace)
        by_id = str(target.get("armId") or "").casefold()
        is_target = by_name == (version.group_kind.kind, key.name, key.namespace)
        if not stated.get("enabled") or not (is_target or by_id == arm_id.casefold()):
            continue
        profiles = stated.get("profiles") or ()
        lows, highs = (
            [_count(one, bound) for one in profiles] for bound in ("minimum", "maximum")
        )
        if moved and lows:
            return MovingValue(moved, low=min(lows), high=max(highs))
    return None


def _may_move(row: MovingValue, owner: JsonObject | None) -> bool:
    if not row.by_owner or owner is None:
        return True
    return dig(spec(owner), row.by_owner.replace("/", ".")) in row.on


def _count(profile: Any, bound: str) -> float:
    """Return a bound of an autoscale profile as a number; Azure stores it as a text."""
    value = ((profile or {}).get("capacity") or {}).get(bound)
    try:
        return float(str(value))
    except ValueError:
        return 0.0 if bound == "minimum" else float("inf")
