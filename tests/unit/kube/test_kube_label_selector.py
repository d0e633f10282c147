"""Label selectors of cached reads, as the server reads them."""

import pytest

from asoreconcile.kube.label_selector import SelectorError, label_test

LABELS = {"app": "web", "tier": "front", "size": "12", "a.b/c": ""}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier!=back", True),
        ("app in (web,api)", True),
        ("app notin (web,api)", False),
        ("other notin (web)", True),
        ("other!=x", True),
        ("app", True),
        ("!app", False),
        ("!other, app = web", True),
        ("size>11", True),
        ("size<12", False),
        ("a.b/c=", True),
        ("app in ()", False),
    ],
)
def test_ca4_a_selector_means_what_it_means_on_the_server(selector, matches):
    assert label_test(selector)(LABELS) is matches


@pytest.mark.parametrize(
    "selector", ["=x", "app in web", "app=web,", "app ~ web", "size>x", "app=a b", "-a"]
)
def test_ca4_a_text_that_is_no_selector_is_refused(selector):
    with pytest.raises(SelectorError, match="unable to parse"):
        label_test(selector)
