"""What is remembered of the credentials that objects use."""

import pytest

from asoreconcile.azure.contents import UsedContents
from asoreconcile.objects import ObjectKey

ONE, OTHER = ObjectKey("ns", "one"), ObjectKey("ns", "other")


@pytest.fixture
def contents():
    return UsedContents()


def test_an_object_uses_the_content_of_its_last_pass(contents):
    contents.use(ONE, "old")
    contents.use(ONE, "new")
    assert contents.has_used(ONE, "new")
    assert not contents.has_used(ONE, "old")
    assert not contents.has_used(OTHER, "new")


@pytest.mark.parametrize("ends", ["use", "forget"])
def test_no_content_is_nobodys(contents, ends):
    contents.use(ONE, "one")
    if ends == "use":
        contents.use(ONE, "")
    else:
        contents.forget(ONE)
    assert not contents.has_used(ONE, "one")
    assert not contents.has_used(ONE, "")
    contents.forget(OTHER)
