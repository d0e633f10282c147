"""The short way through requests sends what its long way does."""

import pytest
import requests

from asoreconcile.arm import transport

URL = "https://management.azure.com/subscriptions/s/resourceGroups/g?api-version=1"


class Adapter(requests.adapters.BaseAdapter):
    """Keeps what it is given."""

    def send(self, request, **options):
        self.sent, self.options = request, options
        answer = requests.Response()
        answer.status_code, answer.raw = 200, None
        return answer

    def close(self):
        pass


def sent(session, *args, **options):
    adapter = Adapter()
    session.mount("https://", adapter)
    session.trust_env = False
    session.proxies.update({"https": "http://proxy:3128"})
    session.request(*args, **options)
    request = adapter.sent
    told = {name: adapter.options[name] for name in ("stream", "timeout", "proxies")}
    return request.method, request.url, dict(request.headers), request.body, told


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("GET", None),
        ("HEAD", None),
        ("DELETE", None),
        ("POST", None),
        ("PUT", b'{"location": "westeurope"}'),
        ("POST", {"grant_type": "client_credentials", "scope": "a b"}),
    ],
)
def test_requests_are_the_same(method, data):
    headers = {"user-agent": "us", "Accept": "application/json"}
    options = {
        "headers": headers,
        "data": data,
        "files": None,
        "verify": True,
        "timeout": (10, 90),
        "cert": None,
        "allow_redirects": False,
        "proxies": None,
        "stream": True,
    }
    ours = sent(transport._session(URL, 4), method, URL, **options)
    assert ours == sent(requests.Session(), method, URL, **options)
