"""What is remembered of the credential of each object."""

import pytest

from asoreconcile.azure.sources import CredentialSources


@pytest.fixture
def sources():
    return CredentialSources()


def test_another_secret_is_told_the_first_is_not(sources):
    told = [sources.note("1", source) for source in ("ns/a", "ns/a", "ns/b", "ns/b")]
    assert told == [False, False, True, False]
    assert not sources.note("2", "ns/a")


def test_an_object_uses_the_content_of_its_last_pass(sources):
    sources.use("1", "old")
    sources.use("1", "new")
    assert sources.uses("1", "new")
    assert not sources.uses("1", "old")
    assert not sources.uses("2", "new")


def test_what_is_not_known_is_not_used(sources):
    sources.use("1", "one")
    sources.use("1", "")
    assert not sources.uses("1", "one")
    assert not sources.uses("1", "")
    assert not sources.uses("2", "")


def test_an_object_that_went_uses_nothing(sources):
    sources.note("1", "ns/a")
    sources.use("1", "one")
    sources.forget("1")
    assert not sources.uses("1", "one")
    assert not sources.note("1", "ns/b")
