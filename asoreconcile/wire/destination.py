"""One server, and the proxy to it. Pure except for setting libcurl's options."""

from typing import Self
from urllib.parse import unquote, urlsplit

import attrs
import pycurl

from asoreconcile.redaction import register

_PORTS = {"http": 80, "https": 443}
_PROXY_PORTS = {**_PORTS, "socks5": 1080, "socks5h": 1080}
_ADDRESS_NOWHERE = "127.0.0.1"


@attrs.frozen
class Proxy:
    """A proxy. An HTTP proxy forwards plain requests, and opens a tunnel for TLS. A
    SOCKS proxy opens a tunnel for both, and resolves the server's name. Its user and
    password are sent only to it.
    """

    scheme: str
    host: str
    port: int
    user: str = attrs.field(default="", repr=False)
    password: str = attrs.field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the proxy of a URL: `SCHEME://[user[:password]@]host[:port]`.

        The scheme is http, https, socks5 or socks5h; http if the URL names no scheme.
        Raises ValueError, which does not quote the URL.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port
        except ValueError:
            raise ValueError("it is no URL") from None
        if parts.scheme not in _PROXY_PORTS:
            raise ValueError(
                f"its scheme is {parts.scheme}: use http://, https:// or socks5://"
            )
        if not parts.hostname:
            raise ValueError("it names no host")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if password:
            register(password)
        # Without a port, the scheme's default: people always write 3128 and 8080.
        port = port or _PROXY_PORTS[parts.scheme]
        return cls(parts.scheme, parts.hostname, port, user, password)

    @property
    def forwards(self) -> bool:
        """Return whether the proxy is told the URL of each request without TLS."""
        return self.scheme in _PORTS


@attrs.frozen
class Destination:
    """A server by its URL's scheme, host and port.

    server_name: the name in its certificate, if it is not the host.
    """

    scheme: str
    host: str
    port: int
    server_name: str = ""
    proxy: Proxy | None = None

    @classmethod
    def of(cls, url: str, *, server_name: str = "", proxy: Proxy | None = None) -> Self:
        """Return the destination of a URL.

        url: its path does not matter. Raises ValueError without quoting it.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError("it is no URL") from None
        scheme = parts.scheme.lower()
        if scheme not in _PORTS or not parts.hostname:
            raise ValueError("it must begin with https:// and name a host")
        return cls(scheme, parts.hostname, port or _PORTS[scheme], server_name, proxy)

    @property
    def is_secure(self) -> bool:
        """Return whether connections use TLS and check the server's certificate."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Return `host[:port]`, with the port unless it is the default of the
        scheme.
        """
        host = _bracketed(self.host)
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def first_hop(self) -> tuple[str, int]:
        """Return the host and port that a socket is opened to: the proxy's, if there is
        one.
        """
        if self.proxy is not None:
            return self.proxy.host, self.proxy.port
        return self.host, self.port

    def target(self, path: str) -> str:
        """Return the target in the request line: a proxy without a tunnel needs the
        whole URL.
        """
        if self.proxy is not None and self.proxy.forwards and not self.is_secure:
            return f"{self.scheme}://{self.authority}{path}"
        return path

    def apply(self, curl: pycurl.Curl, *, resolves: bool = False) -> None:
        """Set libcurl's options for this server only, and its proxy.

        resolves: libcurl resolves names and opens sockets itself.
        """
        name = _bracketed(self.server_name or self.host)
        host, port = _bracketed(self.host), self.port
        curl.setopt(pycurl.URL, f"{self.scheme}://{name}:{port}/")
        curl.setopt(
            pycurl.PROTOCOLS,
            pycurl.PROTO_HTTPS if self.is_secure else pycurl.PROTO_HTTP,
        )
        curl.setopt(pycurl.REDIR_PROTOCOLS, 0)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # A .netrc in the home folder would add a login to requests that carry a token.
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        if self.server_name:
            curl.setopt(pycurl.CONNECT_TO, [f"{name}:{port}:{host}:{port}"])
        hop, hop_port = self.first_hop
        # We open the sockets and resolve names; libcurl must not resolve.
        if not resolves and ":" not in hop:
            curl.setopt(pycurl.RESOLVE, [f"{hop}:{hop_port}:{_ADDRESS_NOWHERE}"])
        # "" excludes no host from the proxy, regardless of the environment.
        curl.setopt(pycurl.NOPROXY, "")
        if self.proxy is None:
            curl.setopt(pycurl.PROXY, "")
            return
        proxy = self.proxy
        # As Go's clients, libcurl leaves the server's name to a SOCKS proxy.
        scheme = proxy.scheme if proxy.forwards else "socks5h"
        curl.setopt(pycurl.PROXY, f"{scheme}://{_bracketed(hop)}:{hop_port}")
        if proxy.user or proxy.password:
            curl.setopt(pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC)
            curl.setopt(pycurl.PROXYUSERNAME, proxy.user)
            curl.setopt(pycurl.PROXYPASSWORD, proxy.password)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
