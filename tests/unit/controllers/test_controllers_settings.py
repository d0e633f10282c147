import pytest

from asoreconcile.azure.policy import Policy
from asoreconcile.controllers.durations import parse_duration
from asoreconcile.controllers.settings import SettingsError, from_environment

COMPLETE = {
    "POD_NAMESPACE": "ops",
    "AZURE_SUBSCRIPTION_ID": "s",
    "AZURE_TENANT_ID": "t",
    "AZURE_CLIENT_ID": "c",
    "AZURE_CLIENT_SECRET": "canary-value",
}


def test_defaults_are_aso_s():
    settings = from_environment({"POD_NAMESPACE": "ops"})
    assert settings.subscription_id == ""
    assert settings.sync_period_seconds == 3600.0
    assert settings.max_concurrent_reconciles == 4
    assert settings.default_policy is Policy.MANAGE
    assert settings.cloud.endpoint == "https://management.azure.com"


def test_values_are_read():
    settings = from_environment(
        {
            **COMPLETE,
            "AZURE_SYNC_PERIOD": "1h30m",
            "MAX_CONCURRENT_RECONCILES": "9",
            "AZURE_RESOURCE_MANAGER_ENDPOINT": "https://arm.example",
            "DEFAULT_RECONCILE_POLICY": "detach-on-delete",
        }
    )
    assert settings.sync_period_seconds == 5400.0
    assert settings.max_concurrent_reconciles == 9
    assert settings.cloud.endpoint == "https://arm.example"
    assert settings.default_policy is Policy.DETACH_ON_DELETE


def test_never_switches_the_sync_off():
    found = from_environment({**COMPLETE, "AZURE_SYNC_PERIOD": "never"})
    assert found.sync_period_seconds is None


def test_all_problems_are_reported_at_once():
    with pytest.raises(SettingsError) as caught:
        from_environment(
            {
                "AZURE_SUBSCRIPTION_ID": "s",
                "AZURE_SYNC_PERIOD": "0",
                "MAX_CONCURRENT_RECONCILES": "many",
                "AZURE_AUTHORITY_HOST": "http://plain.example",
            }
        )
    named = "\n".join(caught.value.problems)
    for name in (
        "POD_NAMESPACE",
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
        "AZURE_SYNC_PERIOD",
        "MAX_CONCURRENT_RECONCILES",
        "AZURE_AUTHORITY_HOST",
    ):
        assert name in named


def test_empty_equals_unset():
    found = from_environment({**COMPLETE, "MAX_CONCURRENT_RECONCILES": ""})
    assert found.max_concurrent_reconciles == 4


def test_secret_stays_out_of_the_repr():
    assert "canary-value" not in repr(from_environment(COMPLETE))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("0", 0),
        ("-2m", -120),
    ],
)
def test_go_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "1h 30m", "15min", "1x"])
def test_not_a_duration(text):
    with pytest.raises(ValueError, match="15m"):
        parse_duration(text)
