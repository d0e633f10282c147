"""What manifests of kinds without ARM mean, for `asoctl render`. A row a kind."""

from collections.abc import Mapping

from asoreconcile.catalogue.render import DescribeOutside
from asoreconcile.entra.rendering import described_group
from asoreconcile.objects import GroupKind

DESCRIBED: Mapping[GroupKind, DescribeOutside] = {
    GroupKind("entra.azure.com", "SecurityGroup"): described_group,
}
