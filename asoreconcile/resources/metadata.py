"""The metadata and status conditions of typed objects."""

from datetime import datetime
from typing import Annotated, Any, Literal

import attrs

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.conditions import (
    MAX_MESSAGE,
    MAX_REASON,
    MAX_TYPE,
    REASON_PATTERN,
    TYPE_PATTERN,
    check_condition,
)
from asoreconcile.resources.annotations import OMIT_EMPTY, Schema

_Text = Annotated[str, OMIT_EMPTY]


@attrs.define(kw_only=True)
class ObjectOwner:
    """An owner reference, to an owner in the same namespace or a cluster-scoped one."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: Annotated[bool, OMIT_EMPTY] = False
    block_owner_deletion: Annotated[bool, OMIT_EMPTY] = False


@attrs.define(kw_only=True)
class ObjectMeta:
    """The `metadata` of an object. Fields that the server sets are empty until then."""

    name: _Text = ""
    generate_name: _Text = ""
    namespace: _Text = ""
    uid: _Text = ""
    resource_version: _Text = ""
    generation: Annotated[int, OMIT_EMPTY] = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = attrs.field(factory=dict)
    annotations: dict[str, str] = attrs.field(factory=dict)
    finalizers: list[str] = attrs.field(factory=list)
    owner_references: list[ObjectOwner] = attrs.field(factory=list)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Lets models of pydantic have it as a field: it is taken as it is."""
        return handler.generate_schema(Any)

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_deleting(self) -> bool:
        """Return whether deletion was requested and finalizers hold the object."""
        return self.deletion_timestamp is not None


@attrs.define(kw_only=True)
class Condition:
    """A status condition (metav1.Condition)."""

    type: Annotated[
        str,
        "One of a kind in a status, in CamelCase.",
        Schema(max_length=MAX_TYPE, pattern=TYPE_PATTERN),
    ]
    status: Literal["True", "False", "Unknown"]
    last_transition_time: Annotated[datetime, "Since when it has this status."]
    reason: Annotated[
        str,
        "One word in CamelCase, for programs.",
        Schema(min_length=1, max_length=MAX_REASON, pattern=REASON_PATTERN),
    ]
    message: Annotated[str, "For people.", Schema(max_length=MAX_MESSAGE)]
    observed_generation: Annotated[
        int | None, "The metadata.generation it is about.", Schema(minimum=0)
    ] = None

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Lets models of pydantic have it as a field: it is taken as it is."""
        return handler.generate_schema(Any)


def update_condition(
    conditions: list[Condition],
    type: str,  # noqa: A002 - the field's name
    status: Literal["True", "False", "Unknown"],
    reason: str,
    message: str = "",
    *,
    observed_generation: int | None = None,
    now: datetime | None = None,
) -> bool:
    """Set a condition in a list; returns whether that changed it.

    The arguments, times and exceptions are those of `set_condition`, which changes a
    dict.
    """
    found = next((one for one in conditions if one.type == type), None)
    since = check_condition(type, status, reason, message, now)
    if found is not None and found.status == status:
        since = found.last_transition_time
    made = Condition(
        type=type,
        status=status,
        last_transition_time=since,
        reason=reason,
        message=message[:MAX_MESSAGE],
        observed_generation=observed_generation,
    )
    if made == found:
        return False
    if found is None:
        conditions.append(made)
    else:
        conditions[conditions.index(found)] = made
    return True


Conditions = Annotated[list[Condition], Schema(map_keys=("type",))]
"""The type of `status.conditions`: a list map by condition type."""
