"""Decides when to renew a self-signed certificate, from the stored bundle and the time.
Pure except for new keys.

Clients trust the authorities in `ca.crt`. A new authority is first published there, and
signs only after all clients had time to load it. Rule: WH-7.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from asoreconcile.base.certificates import (
    BACKDATED,
    Authority,
    CertificateError,
    bundle,
    hosts_of,
    load_all,
    load_pair,
)
from asoreconcile.webhooks.bundle import (
    AUTHORITY,
    AUTHORITY_KEY,
    CERTIFICATE,
    KEY,
    CertificateBundle,
)

_AUTHORITY_NAME = "asoreconcile webhooks"
# A new authority must reach the callers, a new certificate need not: so the authority
# lives ten times as long.
_AUTHORITY_DAYS = 3650.0
_CERTIFICATE_DAYS = 365.0
# As in cert-manager: renew with a third of the lifetime left, in case renewals fail.
_ROTATE_AFTER = 2 / 3


def renewed(
    kept: CertificateBundle,
    hosts: Sequence[str],
    *,
    now: datetime,
    propagation_delay: timedelta,
) -> CertificateBundle | None:
    """Return the bundle to store from now on; None if the stored one stays.

    hosts: names that clients use. propagation_delay: time from the publication of a new
    authority until it signs. An unreadable bundle is replaced.
    """
    try:
        return _renewed(kept, hosts, now=now, propagation_delay=propagation_delay)
    except (CertificateError, KeyError):
        authority = _new_authority(now)
        return {
            AUTHORITY: authority.pem,
            AUTHORITY_KEY: authority.key_pem,
            **_signed(authority, hosts, now),
        }


def _renewed(
    kept: CertificateBundle,
    hosts: Sequence[str],
    *,
    now: datetime,
    propagation_delay: timedelta,
) -> CertificateBundle | None:
    trusted = load_all(kept[AUTHORITY])
    authority = Authority.load(kept[AUTHORITY], kept[AUTHORITY_KEY])
    own, _ = load_pair(kept[CERTIFICATE], kept[KEY])
    # Too late for a gradual rotation: replace everything at once.
    if _is_over(own, now) or _is_over(authority.certificate, now):
        raise CertificateError("it has expired")
    if _needs_rotation(authority.certificate, now):
        newest = _new_authority(now)
        still = [
            newest.certificate,
            *(one for one in trusted if not _is_over(one, now)),
        ]
        return {**kept, AUTHORITY: bundle(still), AUTHORITY_KEY: newest.key_pem}
    published = _begin(authority.certificate) + BACKDATED
    has_propagated = now - published >= propagation_delay
    current = (
        _signed_by(own, authority)
        and hosts_of(own) == set(hosts)
        and not _needs_rotation(own, now)
    )
    if current or not has_propagated:
        return None
    return {**kept, **_signed(authority, hosts, now)}


def _signed(
    authority: Authority, hosts: Sequence[str], now: datetime
) -> CertificateBundle:
    certificate, key = authority.issue(hosts, now=now, days=_CERTIFICATE_DAYS)
    return {CERTIFICATE: certificate, KEY: key}


def _new_authority(now: datetime) -> Authority:
    return Authority.make(_AUTHORITY_NAME, now=now, days=_AUTHORITY_DAYS)


def _signed_by(certificate: x509.Certificate, authority: Authority) -> bool:
    try:
        certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _begin(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_before_utc


def _is_over(certificate: x509.Certificate, now: datetime) -> bool:
    return now >= certificate.not_valid_after_utc


def _needs_rotation(certificate: x509.Certificate, now: datetime) -> bool:
    life = certificate.not_valid_after_utc - _begin(certificate)
    return now >= _begin(certificate) + life * _ROTATE_AFTER
