"""Check clocks, proxies and versions. Pure."""

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject, Finding
from asoreconcile.azure.controllers.diagnosis.object_parts import (
    containers_of,
    variables_of,
)
from asoreconcile.azure.controllers.discovery import LEAST_KUBERNETES
from asoreconcile.base.objects import JsonObject

_CLOCK = CheckSubject("clock")
_PROXIES = CheckSubject("proxies")
_VERSIONS = CheckSubject("versions")

# Tokens are refused from five minutes on, leases are taken over after 15 s.
_CLOCK_OFF_SECONDS = 10.0
_TAG = re.compile(r":v?(\d+\.\d+\.\d+)[^/]*$")


def of_clocks(
    server: datetime, here: datetime, renewed: datetime | None
) -> Iterator[Finding]:
    """Check that clocks agree.

    server: the API server's time.
    here: this machine's time.
    renewed: the leader's time of its last renewal of the lease.
    """
    off = (here - server).total_seconds()
    if abs(off) > _CLOCK_OFF_SECONDS:
        ahead = "ahead of" if off > 0 else "behind"
        yield _CLOCK.warning(
            f"this machine is {abs(off):.0f} s {ahead} the API server",
            "set the clock (NTP): ages shown here are wrong by as much, and sign-ins "
            "fail from five minutes on",
        )
    ahead_of_server = (renewed - server).total_seconds() if renewed else 0.0
    if ahead_of_server > _CLOCK_OFF_SECONDS:
        yield _CLOCK.error(
            f"the leader's node is {ahead_of_server:.0f} s ahead of the API server",
            "set the clock of its node (NTP): certificates and tokens depend on it",
        )
    elif abs(off) <= _CLOCK_OFF_SECONDS:
        yield _CLOCK.ok("the clocks agree")


def of_proxies(
    deployment: JsonObject, cluster_ip: str, here: Mapping[str, str]
) -> Iterator[Finding]:
    """Check whether a proxy is between the operator and the API server.

    here: this machine's environment.

    No address of a proxy is shown, because it may contain a password.
    """
    for container in containers_of(deployment):
        given = {n.lower(): value for n, value in variables_of(container).items()}
        if not (given.get("https_proxy") or given.get("http_proxy")):
            continue
        if cluster_ip and not _is_exempt(cluster_ip, given.get("no_proxy", "")):
            yield _PROXIES.error(
                f"container {container.get('name')} asks the API server through its "
                "proxy",
                f"add {cluster_ip} and .svc to its NO_PROXY",
            )
        else:
            yield _PROXIES.ok("the operator asks Azure through a proxy")
    if any(here.get(name) for name in ("HTTPS_PROXY", "https_proxy")):
        yield _PROXIES.ok("this machine asks through a proxy (HTTPS_PROXY)")


def of_versions(
    server: JsonObject, images: Sequence[str], own: str
) -> Iterator[Finding]:
    """Check that API server, operator and this program are compatible.

    server: the response of /version.
    own: this program's version.
    """
    served = re.match(r"\d+\.\d+", f"{server.get('major')}.{server.get('minor')}")
    if served and _numbers(served[0]) < _numbers(LEAST_KUBERNETES):
        yield _VERSIONS.error(
            f"Kubernetes {server.get('gitVersion')} has no discovery in version 2, "
            "which the operator finds its kinds by",
            f"upgrade the cluster to {LEAST_KUBERNETES} or later",
        )
    for image in sorted(set(images)):
        if not (tag := _TAG.search(image)) or "asoreconcile" not in image:
            continue
        if _numbers(tag[1]) != _numbers(own):
            older = "older" if _numbers(tag[1]) < _numbers(own) else "newer"
            yield _VERSIONS.warning(
                f"the operator ({image}) is {older} than this program ({own})",
                f"look with asoctl {tag[1]}, or upgrade the operator",
            )


def _is_exempt(address: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY names an IP address: itself, its network, or
    everything.
    """
    for part in (one.strip() for one in no_proxy.split(",")):
        if part in ("*", address):
            return True
        try:
            if ipaddress.ip_address(address) in ipaddress.ip_network(part):
                return True
        except ValueError:
            continue  # a name
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version[:64])[:3])
