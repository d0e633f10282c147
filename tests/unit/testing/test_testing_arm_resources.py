"""The simulator's resources: found by parent and by type as by looking at each."""

import random

from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.resources import ArmResource, Resources

SUBSCRIPTION = "/subscriptions/0d6b9d0c-7a5b-4f2c-8b8b-6a8f2f6c2b11"
GROUPS = [f"{SUBSCRIPTION}/resourceGroups/RG{n}" for n in range(3)]
NETWORKS = [
    f"{group}/providers/Microsoft.Network/virtualNetworks/Net{n}"
    for group in GROUPS
    for n in range(3)
]
SUBNETS = [f"{network}/subnets/Web{n}" for network in NETWORKS for n in range(2)]
LOCKS = [f"{id_}/providers/Microsoft.Authorization/locks/Keep" for id_ in GROUPS]
ALL = [*GROUPS, *NETWORKS, *SUBNETS, *LOCKS]


def resource(id_):
    return ArmResource(parse(id_), {}, {})


def ids(found):
    return [each.address.id for each in found]


def test_what_is_found_is_what_is_there():
    for seed in range(20):
        chance, resources, there = random.Random(seed), Resources(), {}
        for _ in range(60):
            id_ = chance.choice(ALL)
            if chance.random() < 0.7:
                resources.put(resource(id_))
                there.setdefault(id_)
            else:
                gone = {i for i in there if i == id_ or i.startswith(f"{id_}/")}
                assert set(ids(resources.remove(id_.upper()))) == gone
                there = {i: None for i in there if i not in gone}
            assert ids(resources) == list(there)
        for type_, names in (
            ("microsoft.resources/resourcegroups", GROUPS),
            ("microsoft.network/virtualnetworks", NETWORKS),
            ("microsoft.network/virtualnetworks/subnets", SUBNETS),
            ("microsoft.authorization/locks", LOCKS),
        ):
            assert ids(resources.of_type(type_)) == [i for i in there if i in names]
        for network in NETWORKS:
            below = [i for i in there if i.startswith(f"{network}/subnets/")]
            assert ids(resources.children(parse(network), "Subnets")) == below
            assert ids(resources.listed(f"{network}/subnets")) == below
        networks = [i for i in there if i in NETWORKS]
        everywhere = f"{SUBSCRIPTION}/providers/Microsoft.Network/virtualNetworks"
        assert ids(resources.listed(everywhere)) == networks
        for group in GROUPS:
            path = f"{group}/providers/Microsoft.Network/virtualNetworks"
            inside = [i for i in networks if i.startswith(f"{group}/")]
            assert ids(resources.listed(path)) == inside


def test_one_in_the_place_of_another_keeps_its_turn():
    resources = Resources()
    for id_ in (NETWORKS[0], NETWORKS[1], NETWORKS[0]):
        last = resource(id_)
        resources.put(last)
    assert ids(resources.of_type("microsoft.network/virtualnetworks")) == NETWORKS[:2]
    assert resources.find(NETWORKS[0].lower()) is last
