"""The kinds that stand for no ARM resource, and what each of them needs.

A row a kind. What a row makes imports its drivers when the first object of its kind is
reconciled: most installations have none.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.clock import Clock
from asoreconcile.fencing import Fence
from asoreconcile.non_arm.resource import ExternalResource
from asoreconcile.objects import GroupKind


@attrs.frozen
class ExternalDependencies:
    """What kinds without ARM share.

    fence: asked before each write outside: raises once another process may lead.
    """

    clock: Clock
    fence: Fence | None = None


Factory = Callable[[ExternalDependencies], ExternalResource]

EXTERNAL: Mapping[GroupKind, Factory] = {}


def external_resources(
    shared: ExternalDependencies,
) -> Mapping[GroupKind, ExternalResource]:
    """One for each kind. Sends nothing."""
    return {group_kind: make(shared) for group_kind, make in EXTERNAL.items()}
