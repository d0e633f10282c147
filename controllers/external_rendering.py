"""What manifests of kinds without ARM mean, for `asoctl render`. A row a kind."""

from collections.abc import Mapping
from functools import partial

from asoreconcile.catalogue.render import DescribeOutside
from asoreconcile.entra.rendering import described_group
from asoreconcile.objects import GroupKind
from asoreconcile.sql_users.rendering import DIALECTS, rendered_user

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    GroupKind("entra.azure.com", "SecurityGroup"): described_group,
    **{group_kind: partial(rendered_user, group_kind) for group_kind in DIALECTS},
}
