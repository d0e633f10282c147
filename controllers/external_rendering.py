"""What manifests of kinds without ARM mean, for `asoctl render` and `plan`. A row a
kind.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from asoreconcile.azure.change_plan import OutsidePlan
from asoreconcile.catalogue.render import DescribeOutside
from asoreconcile.clock import Clock
from asoreconcile.entra.planning import GroupPlanner
from asoreconcile.entra.rendering import described_group
from asoreconcile.graph.client import GraphClient
from asoreconcile.objects import GroupKind
from asoreconcile.sql_users.kinds import user_planners
from asoreconcile.sql_users.planning import PlanSources
from asoreconcile.sql_users.rendering import DIALECTS, rendered_user

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    GroupKind("entra.azure.com", "SecurityGroup"): described_group,
    **{group_kind: partial(rendered_user, group_kind) for group_kind in DIALECTS},
}


@contextmanager
def outside_plans(
    graph: Callable[[], GraphClient], users: PlanSources, clock: Clock
) -> Iterator[Mapping[GroupKind, OutsidePlan]]:
    """Who plans for kinds without ARM. graph: reads Entra. users: finds what users of
    databases name. What they have opened is closed at the end.
    """
    groups = GroupPlanner(graph, clock)
    with user_planners(users, clock) as planners:
        yield {GroupKind("entra.azure.com", "SecurityGroup"): groups, **planners}
