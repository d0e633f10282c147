"""`Warning` headers: read, and told once each."""

import pytest

from asoreconcile.kube import api_warnings
from asoreconcile.kube.api_warnings import ApiWarnings, warnings_in


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ('299 - "v1beta1 is deprecated"', ["v1beta1 is deprecated"]),
        ('299 - "a, b", 299 - "c"', ["a, b", "c"]),
        (r'299 - "unknown field \"spec.x\""', ['unknown field "spec.x"']),
        (r'299 api.example "a\\b" "Wed, 21 Oct 2026 07:28:00 GMT"', ["a\\b"]),
        ('110 anderson/1.3.37 "Response is stale"', []),
        ('299 - "never ends', []),
        ("", []),
    ],
)
def test_texts_are_read_out_of_a_header(header, texts):
    assert warnings_in(header) == texts


def test_each_is_told_once_until_it_was_long_ago(monkeypatch, caplog):
    monkeypatch.setattr(api_warnings, "_MOST", 2)
    warnings = ApiWarnings()
    for text in ("a", "b", "a", "c", "a", "b"):
        warnings.log("GET", "/api", {"warning": f'299 - "{text}"'})
    warnings.log("GET", "/api", {})
    assert [one.asoreconcile_fields["warning"] for one in caplog.records] == [
        "a",
        "b",
        "c",
        "b",
    ]
