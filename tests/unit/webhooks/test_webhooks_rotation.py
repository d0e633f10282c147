"""When certificates are made anew, along years of an invented clock."""

from datetime import UTC, datetime, timedelta

import pytest

from asoreconcile.base.certificates import (
    Authority,
    CertificateError,
    hosts_of,
    load_all,
    load_pair,
)
from asoreconcile.webhooks.rotation import renewed

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("webhooks.system.svc", "webhooks.system.svc.cluster.local")
SETTLING = timedelta(minutes=30)


def turned(kept, *, days=0.0, hosts=HOSTS, propagation_delay=SETTLING):
    now = BEGIN + timedelta(days=days)
    return renewed(kept, hosts, now=now, propagation_delay=propagation_delay)


@pytest.fixture(scope="module")
def first():
    return turned({})


def certificate(kept):
    return load_all(kept["tls.crt"])[0]


def is_trusted(kept):
    """Whether a client that has `ca.crt` trusts what is shown."""
    own = certificate(kept)
    for authority in load_all(kept["ca.crt"]):
        try:
            own.verify_directly_issued_by(authority)
        except Exception:  # noqa: BLE001 - not by this one
            continue
        return True
    return False


def test_wh7_the_first_certificate_is_made_at_once(first):
    assert set(first) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert is_trusted(first)
    assert hosts_of(certificate(first)) == set(HOSTS)
    assert turned(first) is None


def test_wh7_a_certificate_is_renewed_long_before_its_end(first):
    assert turned(first, days=240) is None
    later = turned(first, days=245)
    assert later["ca.crt"] == first["ca.crt"]
    assert later["tls.crt"] != first["tls.crt"]
    assert is_trusted(later)
    load_pair(later["tls.crt"], later["tls.key"])


def test_wh7_other_names_mean_another_certificate(first):
    other = turned(first, days=1, hosts=("elsewhere.system.svc",))
    assert hosts_of(certificate(other)) == {"elsewhere.system.svc"}
    assert is_trusted(other)


def test_wh7_a_new_authority_is_published_before_it_signs(first):
    due = 3650 * 2 / 3 + 1
    fresh = {**first, **certificates_of(first, due - 10)}
    published = turned(fresh, days=due)
    assert published["tls.crt"] == fresh["tls.crt"]
    assert len(load_all(published["ca.crt"])) == 2
    assert is_trusted(published)
    assert turned(published, days=due + 29 / 1440) is None
    signed = turned(published, days=due + 31 / 1440)
    assert signed["tls.crt"] != fresh["tls.crt"]
    assert signed["ca.crt"] == published["ca.crt"]
    newest, old = load_all(signed["ca.crt"])
    certificate(signed).verify_directly_issued_by(newest)
    assert load_all(first["ca.crt"]) == [old]


def test_wh7_an_authority_that_is_over_leaves_the_bundle(first):
    spent = 3650 * 2 / 3 + 1
    fresh = {**first, **certificates_of(first, spent - 10)}
    second = turned(fresh, days=spent)
    much_later = spent * 2
    fresh = {**second, **certificates_of(second, much_later - 10)}
    third = turned(fresh, days=much_later)
    assert load_all(first["ca.crt"])[0] not in load_all(third["ca.crt"])
    assert len(load_all(third["ca.crt"])) == 2


def certificates_of(kept, days):
    """A certificate of the newest authority, issued then."""
    authority = Authority.load(kept["ca.crt"], kept["ca.key"])
    now = BEGIN + timedelta(days=days)
    certificate, key = authority.issue(HOSTS, now=now, days=365)
    return {"tls.crt": certificate, "tls.key": key}


@pytest.mark.parametrize(
    "damage",
    [
        {"ca.crt": b"nonsense"},
        {"ca.key": b"nonsense"},
        {"tls.crt": b""},
        {"tls.key": b"nonsense"},
    ],
    ids=lambda damage: f"WH-7-{next(iter(damage))}",
)
def test_what_cannot_be_read_is_made_anew(first, damage):
    assert is_trusted(turned({**first, **damage}))


def test_wh7_halves_that_do_not_fit_are_made_anew(first):
    other = turned({})
    for name in ("ca.key", "tls.key"):
        assert first[name] != other[name]
        mended = turned({**first, name: other[name]})
        assert is_trusted(mended)
        load_pair(mended["tls.crt"], mended["tls.key"])


def test_wh7_what_is_over_is_made_anew(first):
    anew = turned(first, days=366)
    assert anew["ca.crt"] != first["ca.crt"]
    assert is_trusted(anew)


def test_a_key_that_is_not_the_certificate_s_is_named(first):
    with pytest.raises(CertificateError, match="not the certificate's"):
        load_pair(first["tls.crt"], first["ca.key"])
