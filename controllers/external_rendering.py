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
from asoreconcile.azure.sql_users.kinds import user_planners
from asoreconcile.azure.sql_users.planning import PlanSources
from asoreconcile.azure.sql_users.rendering import DIALECTS, rendered_user
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    **dict.fromkeys(ENTRA_KINDS, described_object),
    **{group_kind: partial(rendered_user, group_kind) for group_kind in DIALECTS},
}


@contextmanager
def outside_plans(
    graph: Callable[[], GraphClient], users: PlanSources, clock: Clock
) -> Iterator[Mapping[GroupKind, OutsidePlan]]:
    """Return the planners of kinds without ARM; their connections are closed at the
    end.

    graph: returns a client that reads Entra.
    users: looks up the objects that database users name.
    """
    entra = EntraPlanner(graph, clock)
    with user_planners(users, clock) as planners:
        yield {**dict.fromkeys(ENTRA_KINDS, entra), **planners}
