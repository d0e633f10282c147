"""What an exception that ends a pass becomes for the one who looks at the object."""

import pytest

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.paths import PathError
from asoreconcile.azure.catalogue.payload import SpecError
from asoreconcile.azure.reconcile.engine.failures import failure_of
from asoreconcile.kube.errors import ApiError, TransportError


def made(kind, text):
    """An exception of a kind whose constructor may want more than a text."""
    error = kind.__new__(kind)
    error.args = (text,)
    return error


@pytest.mark.parametrize("kind", [SpecError, PathError, KindConversionError])
def test_a_spec_that_cannot_be_sent_needs_a_person(kind):
    failure = failure_of(None, made(kind, "spec.x is wrong"))
    assert (failure.reason, failure.severity) == ("Failed", "Error")


@pytest.mark.parametrize("status", [400, 403, 405, 413, 422, 500])
def test_what_the_kubernetes_api_refuses_is_shown(status):
    failure = failure_of(None, ApiError("it says no", status=status))
    assert (failure.reason, failure.severity) == ("Failed", "Warning")
    assert str(failure).endswith("refuses what this resource needs: it says no")


@pytest.mark.parametrize("status", [401, 404, 409, 410, 429, 503])
def test_trouble_of_the_moment_is_left_to_the_queue(status):
    assert failure_of(None, ApiError("not now", status=status)) is None
    assert failure_of(None, TransportError("no answer")) is None


def test_h4_what_azure_names_and_is_not_asked_is_shown_without_a_stack():
    """An answer was wrong; in the program nothing was."""
    failure = failure_of(None, ForeignHostError("a monitor is on a foreign host"))
    assert (failure.reason, failure.severity) == ("Failed", "Warning")
    assert "a monitor is on a foreign host" in str(failure)
