"""A subnet's status stays small enough to store."""

import pytest
from extensions_chains import composed, cr, group_kind, version

from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, Ready
from asoreconcile.azure.testing.extensions import fake_ctx

KIND = "network/VirtualNetworksSubnet"
DROPPED = {"ipConfigurations": None}


def checked(count, next_):
    status = {"ipConfigurations": [{"id": f"/{n}"} for n in range(count)]}
    extensions = composed({POST_RECONCILE: lambda req: next_})
    chain = extensions.chain(POST_RECONCILE, group_kind(KIND))
    return chain(PostReconcile(fake_ctx(version(KIND)), cr(KIND, status=status)))


@pytest.mark.parametrize(
    ("count", "patch"), [(0, None), (2000, None), (2001, DROPPED)], ids=str
)
def test_a_list_of_more_than_2000_addresses_is_left_out(count, patch):
    assert checked(count, Ready()) == Ready(patch)


def test_what_the_next_link_patches_is_kept():
    assert checked(3000, Ready({"a": 1})) == Ready({"a": 1} | DROPPED)


def test_a_subnet_that_is_not_ready_stays_so():
    assert checked(3000, NotReady("why")) == NotReady("why")
