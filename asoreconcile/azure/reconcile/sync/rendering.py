"""Makes the bodies of a reconcile's object. Blocking: reads Secrets."""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.drift_baseline import last_put_of
from asoreconcile.azure.reconcile.model.sync_mode import ForeignTags
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Bodies, RenderedSpec


def bodies_of(scope: ReconcileScope) -> Bodies:
    """Return the `Bodies` of an object. Raises ConditionError if there is no
    connection.
    """
    operator, tags = scope.operator, scope.operator.foreign_tags
    return Bodies(
        scope.patcher,
        scope.context,
        scope.references,
        scope.connection.principal(),
        extensions=operator.extensions,
        catalogue=operator.catalogue,
        record_key=operator.record_key,
        rules=scope.merge_rules,
        inherited=scope.namespace_annotations,
        settings=(
            operator.ignore_fields,
            "" if tags is ForeignTags.KEEP else tags.value,
        ),
    )


def rendered_again(scope: ReconcileScope) -> RenderedSpec | None:
    """Return the body of the present spec, in a reconcile that sends no PUT.

    None if an input cannot be read; the next PUT reports that.
    """
    last_put = last_put_of(scope.patcher.annotations)
    try:
        return bodies_of(scope).render(identify(scope, scope.owner()), last_put)
    except ConditionError:
        return None
