"""What tests of the simulated Azure begin with; they bring `azure`, the server."""

import pytest


@pytest.fixture
def session(azure):
    with azure.session() as signed_in:
        yield signed_in


@pytest.fixture
def group(azure):
    path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.seed(path, {"location": "westeurope"})
    return path
