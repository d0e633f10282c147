"""The bounds of foreign text: texts that fit, messages about others, and cuts."""

import pytest

from asoreconcile.base.foreign_text import LengthBound, TooLongError

NAME = LengthBound("a name", 5)


def test_a_text_within_its_bound_is_the_same():
    assert NAME.checked("abcde") == "abcde"
    assert NAME.cut("abcde") == "abcde"
    assert NAME.fits("")


def test_a_longer_text_is_refused_with_its_place_and_the_limit():
    with pytest.raises(TooLongError, match=r"^spec\.x has 6 characters, and at most 5"):
        NAME.checked("abcdef", "spec.x")
    with pytest.raises(ValueError, match=r"^a name has 6 characters"):
        NAME.checked("abcdef")


def test_a_refusal_does_not_quote_the_text():
    with pytest.raises(TooLongError) as raised:
        NAME.checked("secret!")
    assert "secret" not in str(raised.value)


def test_a_cut_text_is_no_longer_than_the_bound_and_says_that_it_was_cut():
    assert NAME.cut("abcdef") == "ab..."
