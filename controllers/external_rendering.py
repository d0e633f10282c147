"""Functions for manifests of kinds without ARM, for `asoctl render` and `plan`.

One row per kind.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from asoreconcile.azure.catalogue.render import DescribeOutside
from asoreconcile.azure.entra.kinds import ENTRA_KINDS
from asoreconcile.azure.entra.planning import EntraPlanner
from asoreconcile.azure.entra.rendering import described_object
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.reconcile.planning.change_plan import OutsidePlan
from asoreconcile.azure.sql_users.kinds import USER_KINDS, user_planners
from asoreconcile.azure.sql_users.planning import FindLookups
from asoreconcile.azure.sql_users.rendering import rendered_user
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    **dict.fromkeys(ENTRA_KINDS, described_object),
    **{group_kind: partial(rendered_user, group_kind) for group_kind in USER_KINDS},
}


@contextmanager
def outside_plans(
    graph: Callable[[], GraphClient], users: FindLookups, clock: Clock
) -> Iterator[Mapping[GroupKind, OutsidePlan]]:
    """Return the planners of kinds without ARM; their connections are closed at the
    end.

    graph: returns a client that reads Entra.
    users: returns the lookups for the object of a database user.
    """
    entra = EntraPlanner(graph, clock)
    with user_planners(users, clock) as planners:
        yield {**dict.fromkeys(ENTRA_KINDS, entra), **planners}
