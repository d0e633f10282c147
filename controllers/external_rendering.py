"""What manifests of kinds without ARM mean, for `asoctl render` and `plan`. A row a
kind.
"""

from collections.abc import Callable, Mapping
from functools import partial

from asoreconcile.azure.change_plan import OutsidePlan
from asoreconcile.catalogue.render import DescribeOutside
from asoreconcile.clock import Clock
from asoreconcile.entra.planning import GroupPlanner
from asoreconcile.entra.rendering import described_group
from asoreconcile.graph.client import GraphClient
from asoreconcile.objects import GroupKind
from asoreconcile.sql_users.rendering import DIALECTS, rendered_user

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    GroupKind("entra.azure.com", "SecurityGroup"): described_group,
    **{group_kind: partial(rendered_user, group_kind) for group_kind in DIALECTS},
}


def outside_plans(
    graph: Callable[[], GraphClient], clock: Clock
) -> Mapping[GroupKind, OutsidePlan]:
    """Who plans for kinds without ARM. graph: reads Entra."""
    groups = GroupPlanner(graph, clock)
    return {GroupKind("entra.azure.com", "SecurityGroup"): groups}
