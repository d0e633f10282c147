"""What `operatorSpec.configMaps` takes out of a status."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.exports.export_plan import catalogued_config_maps

PATHS = {"principalId": "principalId", "port": "endpoint.port", "open": "open"}


def exported(status):
    wanted = {name: {"name": "facts", "key": name} for name in PATHS}
    obj = {"spec": {"operatorSpec": {"configMaps": wanted}}, "status": status}
    return {one.key: one.value for one in catalogued_config_maps(obj, PATHS)}


def test_values_become_text_and_what_azure_does_not_report_is_left_out():
    assert exported({"principalId": "p", "endpoint": {"port": 80}, "open": False}) == {
        "principalId": "p",
        "port": "80",
        "open": "false",
    }
    assert exported({"principalId": "p"}) == {"principalId": "p"}


def test_an_empty_value_is_no_value():
    """Whoever reads it would go on with nothing."""
    with pytest.raises(ConditionError, match=r"empty principalId.*is waited for"):
        exported({"principalId": ""})
