"""Annotations of no policy: credential, exported keys, change of the owner, end of a
subscription. Pure.
"""

import re

from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
    any_text,
    choice,
    shown,
)
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    CANCEL_SUBSCRIPTION,
    CREDENTIAL_FROM,
    DELETES_DECLARED,
    EXPORTS_AS_CREDENTIALS,
    LOGINS_AS_VALUES,
    ROTATE,
)
from asoreconcile.azure.reconcile.model.switches import Switch

_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MOST_IN_A_NAME = 253


def parse_secret_name(text: str) -> str:
    """Return the name of a Secret. Raises ValueError for a text that no Secret can
    have as its name.
    """
    if len(text) > _MOST_IN_A_NAME or not _SECRET_NAME.fullmatch(text):
        raise ValueError(
            "must be the name of a Secret in the object's own namespace, without '/', "
            f"but is {shown(text)!r}"
        )
    return text


CREDENTIAL_FROM_ROW: Annotation[str] = Annotation(
    CREDENTIAL_FROM,
    says="the Secret of the object's own namespace with its credential",
    values="a Secret's name",
    section="operations.md#credentials",
    effect="nothing is read or changed in Azure",
    parse=parse_secret_name,
    whose=Whose.OBJECT,
    holds_writes=True,
    in_deletion=True,
    changes_put=True,
)
DELETES_DECLARED_ROW: Annotation[Switch] = Annotation(
    DELETES_DECLARED,
    says="a deletion in this Namespace also deletes what an object of another "
    "Namespace declares",
    values="`true`",
    section="security.md#two-objects-one-azure-resource",
    effect="a deletion waits for the objects of other Namespaces",
    parse=choice(Switch),
    whose=Whose.NAMESPACE,
    # It widens what objects may do, so that only the right word does.
    if_wrong=Switch.OFF,
    default=Switch.OFF,
    in_deletion=True,
)
EXPORTS_AS_CREDENTIALS_ROW: Annotation[Switch] = Annotation(
    EXPORTS_AS_CREDENTIALS,
    says="a Secret that an object exports may be the credential of others in this "
    "Namespace",
    values="`true`",
    section="security.md#credentials-and-exports",
    effect="exported Secrets are no credentials",
    parse=choice(Switch),
    whose=Whose.NAMESPACE,
    # It widens what objects may do, so that only the right word does.
    if_wrong=Switch.OFF,
    default=Switch.OFF,
    in_deletion=True,
)
LOGINS_AS_VALUES_ROW: Annotation[Switch] = Annotation(
    LOGINS_AS_VALUES,
    says="a resource may read a Secret of this Namespace that holds a login to Azure",
    values="`true`",
    effect="no resource reads a Secret that holds a login",
    parse=choice(Switch),
    whose=Whose.NAMESPACE,
    if_wrong=Switch.OFF,
    default=Switch.OFF,
)
ROTATE_ROW: Annotation[str] = Annotation(
    ROTATE,
    says="when the value changes, the exported keys are fetched again",
    values="any text",
    section="operations.md#exported-values",
    effect="nothing is fetched for the value",
    parse=any_text,
    whose=Whose.OBJECT,
    changes_put=True,
    # It asks for one action, here and now.
    is_exported=False,
)
ALLOW_OWNER_CHANGE_ROW: Annotation[Switch] = Annotation(
    ALLOW_OWNER_CHANGE,
    says="one change of `spec.owner` passes the rule of a CRD without webhooks; the "
    "new owner must have the same Azure id",
    values="`true`",
    section="#another-owner-object-with-the-same-azure-id",
    effect="the owner cannot be changed",
    parse=choice(Switch),
    whose=Whose.OBJECT,
    if_wrong=Switch.OFF,
    default=Switch.OFF,
)
CANCEL_SUBSCRIPTION_ROW: Annotation[Switch] = Annotation(
    CANCEL_SUBSCRIPTION,
    says="on the Alias of a subscription: deleting the object cancels its subscription",
    values="`true`",
    section="operations.md#deleted-key-vaults-and-subscriptions",
    effect="no subscription is cancelled",
    parse=choice(Switch),
    whose=Whose.OBJECT,
    if_wrong=Switch.OFF,
    default=Switch.OFF,
    is_arm_only=True,
    in_deletion=True,
)
