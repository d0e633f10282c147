"""Merges the body of an object's PUT with the values of others in Azure.

A reconcile asks here for the body to send and for the body to compare. Rules: OW-1,
OW-2, OW-8.
"""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.ignored_fields import IgnoredFieldError
from asoreconcile.azure.catalogue.moving_values import AUTOSCALED, MovingValue
from asoreconcile.azure.reconcile.model.annotations import IGNORE_FIELDS
from asoreconcile.azure.reconcile.model.merge_rules import (
    AUTOSCALE_SETTING,
    autoscaled_by,
    merge_rules,
)
from asoreconcile.azure.reconcile.model.merged_body import (
    MergedBody,
    MergeRules,
    merged,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import JsonObject


def rules_of(scope: ReconcileScope) -> MergeRules:
    """Return the rules of the object's PUTs.

    Raises ConditionError `Failed` for an ignored field that the kind does not have: a
    misspelt path must not let a PUT overwrite the field. Raises RetryError while the
    autoscale settings are not listed yet.
    """
    patcher, operator = scope.patcher, scope.operator
    try:
        return merge_rules(
            patcher.version,
            patcher.annotations,
            scope.namespace_annotations,
            foreign_tags=operator.foreign_tags,
            ignore_fields=operator.ignore_fields,
            autoscaled=_autoscaled(scope),
        )
    except IgnoredFieldError as error:
        raise ConditionError(
            f"annotation {IGNORE_FIELDS}: {error}. Nothing is written until it is "
            "corrected",
            reason="Failed",
            severity="Error",
        ) from None


def merge(scope: ReconcileScope, body: JsonObject, have: JsonObject) -> MergedBody:
    """Return the body merged with a resource. Raises as `rules_of`."""
    return merged(body, have, rules_of(scope), scope.context.declared)


def _autoscaled(scope: ReconcileScope) -> MovingValue | None:
    version, key = scope.patcher.version, scope.patcher.key
    if version.arm_type.lower() not in AUTOSCALED:
        return None
    found = scope.operator.objects_of(AUTOSCALE_SETTING)
    settings = (setting for _, setting in found)
    return autoscaled_by(version, key, scope.patcher.arm_id, settings)
