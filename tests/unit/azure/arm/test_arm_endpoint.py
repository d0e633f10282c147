"""One host gets the token: which URLs are on it."""

import pytest

from asoreconcile.azure.arm.endpoint import Endpoint, EndpointError, is_same_resource

HOME = Endpoint("https://management.azure.com/")


@pytest.mark.parametrize(
    "url",
    [
        "https://management.azure.com/x",
        "https://MANAGEMENT.azure.com/x?y",
        "https://management.azure.com:443/x",
    ],
)
def test_h4_the_endpoints_own_urls_are_served(url):
    assert HOME.serves(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://management.azure.com/x",
        "https://management.azure.com.evil.example/x",
        "https://evil.example/management.azure.com",
        "https://management.azure.com:8443/x",
        "https://management.azure.com@evil.example/x",
        "https://user@management.azure.com/x",
        "https://management.azure.com\\@evil.example/x",
        "https://management.azure.com\r\n.evil.example/",
        "https://management.azure.com:port/x",
        "https://[::1/x",
        "//management.azure.com/x",
        "/x",
        "",
        "https://management.\u0430zure.com/x",
    ],
)
def test_h4_l21_other_urls_are_not(url):
    assert not HOME.serves(url)


def test_l21_further_hosts_by_setting():
    endpoint = Endpoint("https://a.example", also=frozenset({"B.example", "c:8443"}))
    assert endpoint.serves("https://b.example/x")
    assert endpoint.serves("https://c:8443/x")
    assert not endpoint.serves("https://c/x")


@pytest.mark.parametrize(
    "url",
    [
        *("http://a", "a.example", "", "https://", "https://a?x=1", "https://a#x"),
        *(
            "https://a:99999",
            "https://u:p@a",
            "https://a b",
            "https://a\nb",
            "https://\u0430",
        ),
    ],
)
def test_an_endpoint_must_be_an_https_url(url):
    with pytest.raises(EndpointError):
        Endpoint(url)


def test_an_endpoint_may_have_a_port_and_a_path():
    endpoint = Endpoint("https://127.0.0.1:8443/arm/")
    assert endpoint.address("/subscriptions/s", "1") == (
        "https://127.0.0.1:8443/arm/subscriptions/s?api-version=1"
    )
    assert endpoint.serves("https://127.0.0.1:8443/x")


def test_v9_queries_are_added_after_the_api_version():
    url = HOME.address("/a/b", "2024-01-01-preview", query={"$filter": "x eq 'y z'"})
    assert url == (
        "https://management.azure.com/a/b?api-version=2024-01-01-preview"
        "&$filter=x%20eq%20%27y%20z%27"
    )


def test_l19_absolute_monitors_are_not_touched():
    url = "https://management.azure.com/o?t=2023-09-20T12%3a07%3A31&c=%2d~"
    assert HOME.resolved(url) == url


def test_d22_relative_monitors_are_on_the_endpoint():
    assert HOME.resolved("/o?t=1") == "https://management.azure.com/o?t=1"
    assert HOME.resolved("//evil.example/o") == "https://evil.example/o"


@pytest.mark.parametrize(
    ("monitor", "same"),
    [
        pytest.param("https://m/a/b?api-version=2", True, id="L4-version"),
        pytest.param("https://m/A/B", True, id="L4-case"),
        pytest.param("https://m/a/b?api-version=1&asyncId=2", False, id="L14-query"),
        pytest.param("https://m/a/b/c", False, id="L4-other"),
    ],
)
def test_l4_whether_a_location_is_the_resource_itself(monitor, same):
    assert is_same_resource(monitor, "https://m/a/b?api-version=1") is same
