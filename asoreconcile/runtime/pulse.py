"""The API server's pulse in a process: who asks, what is renewed, where it is shown."""

from functools import partial

from asoreconcile.cache.informers import Informers
from asoreconcile.cache.pulse import PROBE_SECONDS, Pulse
from asoreconcile.clock import Clock
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.runtime.health import Check, CheckResult
from asoreconcile.threads import Threads

# Everybody may ask for it who can ask for anything, and it costs next to nothing.
_CHEAPEST = "/version"


def pulse_of(
    cluster: ClusterConfig,
    client: KubeClient,
    informers: Informers,
    *,
    user_agent: str,
    clock: Clock,
    threads: Threads,
) -> Pulse:
    """The pulse of a process whose requests go by `client`. Sends nothing yet.

    It asks by a client of its own: one connection, that is as old as the process.
    """
    prober = KubeClient(
        cluster,
        user_agent=user_agent,
        clock=clock,
        read_seconds=PROBE_SECONDS,
        max_retries=0,
    )

    def renew(since: float) -> int:
        client.renew_connections()
        return informers.renew(since)

    return Pulse(
        partial(prober.read, _CHEAPEST),
        renew,
        clock=clock,
        threads=threads,
        close=prober.close,
    )


def shown(pulse: Pulse) -> Check:
    """A readiness check that reports and never fails: webhooks work without it."""

    def check() -> CheckResult:
        told = f"last answered {pulse.silent_seconds:.0f} s ago"
        if pulse.trouble:
            told = f"{told}, and does not now: {pulse.trouble}"
        renewed = f"watches opened anew after silence: {pulse.renewed}"
        return CheckResult(ok=True, details=(told, renewed))

    return check
