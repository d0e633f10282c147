"""Fields that Azure does not let change: the condition of a refused PUT names them."""

import pytest
from world import World, resource_group

GROUP = "resources.azure.com/ResourceGroup"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUP, "network.azure.com/PublicIPAddress")
        running.settled(resource_group())
        yield running


def address(**spec):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "PublicIPAddress",
        "metadata": {"name": "pip"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "sku": {"name": "Standard"},
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("code", "status", "spec", "named"),
    [
        # Known for the type, whatever the code.
        ("BadRequest", 400, {"publicIPAddressVersion": "IPv6"}, "AddressVersion be"),
        ("Conflict", 409, {"zones": ["1"]}, "spec.zones"),
        ("BadRequest", 400, {"location": "northeurope"}, "spec.location be"),
        # Only Azure's code says so.
        ("PropertyChangeNotAllowed", 400, {"idleTimeoutInMinutes": 9}, "spec.idle"),
        ("ImmutableProperty", 403, {"idleTimeoutInMinutes": 9}, "spec.idleTimeout"),
        ("CannotChangeX", 409, {"idleTimeoutInMinutes": 9}, "spec.idleTimeout"),
        ("BadRequest", 400, {"idleTimeoutInMinutes": 9}, ""),
        # The code names another cause.
        ("PublicIPCountQuotaExceeded", 409, {"zones": ["1"]}, ""),
        # The PUT is accepted, and its operation fails.
        ("ImmutableProperty", None, {"idleTimeoutInMinutes": 9}, "spec.idleTimeout"),
        ("BadRequest", None, {"zones": ["1"]}, "spec.zones"),
        ("InternalServerError", None, {"zones": ["1"]}, ""),
    ],
)
def test_ow6_the_condition_names_the_field(world, code, status, spec, named):
    world.settled(address())
    if status is None:
        fails = world.azure.faults.fail_operation
        fails("publicIPAddresses/pip", code, "No.", undoes=True)
    else:
        world.azure.faults.answer("PUT", "publicIPAddresses/pip$", status, code=code)
    world.apply(address(tags={"a": "b"}, **spec))
    world.clock.advance(world.run(address()).requeue_after_seconds)
    if status is None:
        world.run(address())
    ready = world.ready(address())
    assert ready["reason"] == code
    assert named in ready["message"]
    said = "Azure does not let" in ready["message"]
    assert said == bool(named)


def test_ow6_a_refused_creation_names_no_field(world):
    world.azure.faults.answer("PUT", "publicIPAddresses/pip$", 400, code="BadRequest")
    world.apply(address())
    world.run(address())
    assert "Azure does not let" not in world.ready(address())["message"]
