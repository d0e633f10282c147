"""Which host is Microsoft Graph, and how requests to it are counted."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.graph.cloud import SETTING, graph_endpoint, graph_scope
from asoreconcile.azure.graph.metrics import resource_label


@pytest.mark.parametrize(
    ("authority", "endpoint"),
    [
        ("https://login.microsoftonline.com/", "https://graph.microsoft.com"),
        ("https://login.microsoftonline.us/", "https://graph.microsoft.us"),
        (
            "https://LOGIN.chinacloudapi.cn",
            "https://microsoftgraph.chinacloudapi.cn",
        ),
    ],
)
def test_the_address_follows_the_authority(authority, endpoint):
    assert graph_endpoint(authority) == endpoint
    assert graph_scope(endpoint) == f"{endpoint}/.default"


def test_the_setting_goes_before_the_authority():
    dod = "https://dod-graph.microsoft.us/"
    found = graph_endpoint("https://login.microsoftonline.us/", configured=dod)
    assert found == "https://dod-graph.microsoft.us"


def test_an_unknown_authority_is_no_reason_to_guess():
    with pytest.raises(ConditionError, match=SETTING) as refused:
        graph_endpoint("https://login.example.com/")
    assert refused.value.reason == "CredentialError"


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/v1.0/groups", "Microsoft.Graph/groups"),
        ("/v1.0/groups(uniqueName='a')", "Microsoft.Graph/groups"),
        ("/v1.0/groups/8f-1", "Microsoft.Graph/groups"),
        ("/v1.0/groups/8f-1/members", "Microsoft.Graph/groups/members"),
        ("/v1.0/groups/8f-1/owners/7/$ref", "Microsoft.Graph/groups/owners"),
        ("/elsewhere", "Microsoft.Graph"),
    ],
)
def test_requests_are_counted_without_names_and_ids(path, resource):
    assert resource_label(path) == resource
