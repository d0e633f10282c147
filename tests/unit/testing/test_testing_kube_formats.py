"""Formats: whatever a value is, it is judged; `tests/contract` has which are taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.testing.kube.fields import formats


@given(st.sampled_from(sorted(formats._STRINGS)), st.text())
def test_any_text_is_judged(name, text):
    assert formats.mistaken(name, text) in ("", name)


@given(
    st.sampled_from(
        ["email", "uri", "hostname", "cidr", "ipv6", "duration", "date-time"]
    ),
    st.text(alphabet='@.:/[]%-+ PTZ09aé\0"(),;<>', max_size=30),
)
def test_what_is_almost_of_a_format_is_judged(name, text):
    assert formats.mistaken(name, text) in ("", name)


@pytest.mark.parametrize("value", [None, [], {}, True, 1.5, 2**70])
def test_values_of_other_types_are_not_formats_to_judge(value):
    assert formats.mistaken("ipv4", value) == ""
    assert formats.mistaken("unknown", value) == ""
