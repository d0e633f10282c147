"""Every error envelope, and the meaning of each code for the next try."""

from datetime import UTC, datetime
from urllib.parse import unquote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.arm.classification import classify, condition_reason
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.errors import ArmTransportError, is_another, parse_fault
from asoreconcile.azure.arm.response import ArmResponse

SLOW = [
    "AnotherOperationInProgress",
    "AuthorizationFailed",
    "AllocationFailed",
    "Conflict",
    "FailedIdentityOperation",
    "InvalidResourceReference",
    "InvalidSubscriptionRegistrationState",
    "LinkedAuthorizationFailed",
    "MissingRegistrationForLocation",
    "MissingSubscriptionRegistration",
    "NoRegisteredProviderFound",
    "NotFound",
    "ParentResourceNotFound",
    "PrincipalNotFound",
    "ResourceGroupNotFound",
    "ResourceNotFound",
    "ResourceQuotaExceeded",
    "RequestDisallowedByPolicy",
    "SubscriptionNotRegistered",
]
VERY_SLOW = [
    "BadRequestFormat",
    "BadRequest",
    "InvalidResourceGroupLocation",
    "InvalidParameter",
    "InvalidParameterValue",
    "MethodNotAllowed",
    "ReservedResourceName",
    "RegionIsOfferRestricted",
    "ScopeLocked",
    "SkuNotAvailable",
    "SubscriptionNotFound",
]
FATAL = [
    "PublicIpForGatewayIsRequired",
    "InvalidResourceType",
    "InvalidRequestContent",
    "InvalidTemplate",
    "InvalidValuesForRequestParameters",
    "InvalidGatewaySkuProvidedForGatewayVpnType",
    "InvalidGatewaySize",
    "K8sVersionNotSupported",
    "LocationRequired",
    "MissingRequiredParameter",
    "PasswordTooLong",
    "PrivateIPAddressInReservedRange",
    "PrivateIPAddressNotInSubnet",
    "PropertyChangeNotAllowed",
]


def fault(status, body, **headers):
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_fault(
        ArmResponse(status, names, content),
        method="PUT",
        url="https://management.azure.com/subscriptions/s?api-version=1&s=signature",
    )


def stated(code, status=409):
    return fault(status, {"error": {"code": code, "message": "m"}})


ENVELOPES = {
    "E1-nested": ({"error": {"code": "C", "message": "m"}}, "C", "m"),
    "E1-details-null": ({"error": {"code": "C", "message": "m", "details": None, "target": None}},
                        "C", "m"),
    "E1-additional-info-null": ({"error": {"code": "C", "message": "m", "additionalInfo": None}},
                                "C", "m"),
    "E1-additional-info-without-info": (
        {"error": {"code": "C", "message": "m", "additionalInfo": [{"type": "t"}]}},
        "C",
        "m",
    ),
    "E1-extra-keys": ({"error": {"code": "C", "message": "m", "subCode": 3, "traceId": "x"}},
                      "C", "m"),
    "E1-code-without-message": ({"error": {"code": "C"}}, "C",
                                "There was an unknown deployment error"),
    "E1-repeated-at-top": ({"error": {"code": "C", "message": "m"}, "code": "D", "message": "n"},
                           "C", "m"),
    "E2-top-level": ({"code": "C", "message": "m", "details": [], "subcode": ""}, "C", "m"),
    "E2-cosmos": ({"code": "BadRequest", "message": "m\r\nx"}, "BadRequest", "m\r\nx"),
    "E2-capitals": (
        {
            "Code": "C",
            "Message": "m",
            "Target": None,
            "Details": [],
            "Innererror": None,
        },
        "C",
        "m",
    ),
    "E2-message-only": ({"Message": "m"}, "UnknownError", "m"),
    "E2-number": ({"code": 404002, "httpStatusCode": "NotFound", "message": "m"}, "404002", "m"),
    "E2-problem": ({"type": "https://x", "title": "m", "status": 400, "traceId": "t"},
                   "UnknownError", "m"),
    "E3-string-error": ({"error": "m"}, "UnknownError", "m"),
    "E3-oauth-error": ({"error": "invalid", "message": "m"}, "UnknownError", "invalid"),
    "E3-error-null": ({"error": None, "code": "C", "message": "m"}, "C", "m"),
    "E3-text": ("m", "UnknownError", "m"),
    "R4.6-no-members": ({}, "UnknownError", "There was an unknown deployment error"),
    "E3-list": ([1], "UnknownError", "There was an unknown deployment error"),
    "E3-wrong-types": ({"error": {"code": ["C"], "message": {"a": 1}, "details": "x"}},
                       "UnknownError", "There was an unknown deployment error"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code", "message"), ENVELOPES.values(), ids=ENVELOPES)
def test_every_envelope_gives_its_code_and_message(body, code, message):
    error = fault(409, body)
    assert (error.code, error.message, error.status) == (code, message, 409)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"<html>busy</html>", "<html>busy</html>", id="E2-html"),
        pytest.param(b'{"error": {', '{"error": {', id="E3-cut-short"),
        pytest.param(b"\xff\xfe", "\ufffd\ufffd", id="E3-binary"),
    ],
)
def test_a_body_that_is_no_json_is_the_message(body, message):
    error = fault(400, body)
    assert (error.code, error.message) == ("UnknownError", message)
    assert classify(error).retry is RetryClass.SLOW


def test_e2_an_empty_body_still_says_the_status():
    error = fault(503, b"")
    assert error.code == "UnknownError"
    assert "503" in error.message


def test_e3_a_byte_order_mark_is_read_over():
    assert fault(400, b'\xef\xbb\xbf{"code":"C","message":"m"}').code == "C"


def test_e3_the_most_specific_code_is_the_innermost():
    error = fault(
        429,
        {
            "error": {
                "code": "RetryableError",
                "message": "m",
                "details": [{"code": "ReferencedResourceNotProvisioned"}],
            }
        },
    )
    assert error.code == "RetryableError"
    assert error.codes[-1] == "ReferencedResourceNotProvisioned"


def test_e3_inner_errors_are_walked_in_any_spelling():
    error = fault(
        400,
        {
            "error": {
                "code": "A",
                "innerError": {"Code": "B", "INNERERROR": {"code": "C"}},
            }
        },
    )
    assert error.codes == ("A", "B", "C")


def test_e3_depth_and_length_are_bounded():
    body = {"code": "C" * 5000, "message": "m" * 100_000}
    for _ in range(60):
        body = {"code": "N", "innererror": body}
    error = fault(400, body)
    assert len(error.codes) < 60
    assert len(fault(400, {"message": "m" * 100_000}).message) < 17_000
    assert len(fault(400, {"code": "C" * 5000}).code) == 256


def test_the_whole_text_is_kept_for_the_log():
    body = {"error": {"code": "C", "message": "m", "more": ["x" * 5000]}}
    assert fault(400, body).body == orjson.dumps(body).decode()


def test_e4_the_policys_display_name_is_shown():
    info = {"policyDefinitionDisplayName": "No public IPs", "policyDefinitionName": "g"}
    error = fault(
        403,
        {
            "error": {
                "code": "RequestDisallowedByPolicy",
                "message": "disallowed",
                "additionalInfo": [{"type": "PolicyViolation", "info": info}],
            }
        },
    )
    assert classify(error).message == "disallowed (policy: No public IPs)"
    assert error.message == "disallowed"


def test_h1_request_ids_are_kept():
    error = fault(
        500, {}, x_ms_request_id="r", x_ms_correlation_request_id="c", retry_after="9"
    )
    assert (error.request_id, error.correlation_id) == ("r", "c")
    assert error.retry_after_seconds == 9


def test_signed_queries_stay_out_of_the_text():
    error = stated("C")
    assert "signature" not in str(error)
    assert error.url == "https://management.azure.com/subscriptions/s"


@pytest.mark.parametrize("code", SLOW)
@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_e7_e9_slow_codes(code, status):
    result = classify(stated(code, status))
    assert (result.severity, result.retry, result.code) == (
        "Warning",
        RetryClass.SLOW,
        code,
    )


@pytest.mark.parametrize("code", VERY_SLOW)
@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_e9_very_slow_codes(code, status):
    result = classify(stated(code, status))
    assert (result.severity, result.retry) == ("Warning", RetryClass.VERY_SLOW)


@pytest.mark.parametrize("code", FATAL)
def test_e9_fatal_codes(code):
    result = classify(stated(code, 400))
    assert (result.severity, result.retry) == ("Error", RetryClass.VERY_SLOW)
    assert (result.code, result.message) == (code, "m")


@pytest.mark.parametrize(
    ("code", "status", "retry"),
    [
        pytest.param("Other", 400, RetryClass.VERY_SLOW, id="R4.4-400"),
        pytest.param("Other", 404, RetryClass.SLOW, id="R4.4-404"),
        pytest.param("Other", 409, RetryClass.SLOW, id="R4.4-409"),
        pytest.param("Other", 429, RetryClass.SLOW, id="R4.4-429"),
        pytest.param("Other", 500, RetryClass.SLOW, id="R4.4-500"),
        pytest.param("conflict", 400, RetryClass.VERY_SLOW, id="4b-exact-match"),
        pytest.param("", 400, RetryClass.VERY_SLOW, id="4a-no-code"),
    ],
)
def test_r4_4_unknown_codes_go_by_status(code, status, retry):
    result = classify(stated(code, status))
    assert (result.severity, result.retry) == ("Warning", retry)
    assert result.code == (code or "UnknownError")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        pytest.param(400, "InUseSubnetCannotBeDeleted", id="DE2-subnet"),
        pytest.param(400, "PublicIPAddressCannotBeDeleted", id="DE2-address"),
        pytest.param(409, "CannotDeleteResource", id="DE2-group"),
        pytest.param(409, "ScopeLocked", id="E5-lock"),
        pytest.param(409, "StorageAccountIsNotProvisioned", id="V7-not-yet"),
    ],
)
def test_refusals_that_heal_by_themselves_are_warnings(status, code):
    assert classify(stated(code, status)).severity == "Warning"


def test_4a_a_transport_error_is_unknown_and_slow():
    error = ArmTransportError(
        "reset", sent="maybe", method="PUT", url="https://a/b?s=1"
    )
    result = classify(error)
    assert (result.code, result.severity, result.retry) == (
        "UnknownError",
        "Warning",
        RetryClass.SLOW,
    )
    assert result.message == "reset"
    assert "s=1" not in str(error)


@pytest.mark.parametrize(
    ("status", "code", "busy", "throttled"),
    [
        pytest.param(429, "RetryableError", True, False, id="T5-busy"),
        pytest.param(429, "429", False, True, id="T5-recorded-throttling"),
        pytest.param(429, "TooManyRequests", False, True, id="T5-throttled"),
        pytest.param(409, "AnotherOperationInProgress", True, False, id="E6-another"),
        pytest.param(409, "Conflict", True, False, id="E6-conflict"),
        pytest.param(400, "BadRequest", False, False, id="E6-neither"),
    ],
)
def test_t5_busy_objects_and_throttled_callers(status, code, busy, throttled):
    error = stated(code, status)
    assert (error.is_busy_object, error.is_throttled) == (busy, throttled)


@pytest.mark.parametrize("status", [400, 403, 404, 408, 409, 412, 429, 500, 502, 504])
def test_d4_e10_the_server_picks_the_delay_of_any_refusal(status):
    error = fault(status, {"error": {"code": "SomeCode"}}, retry_after="42")
    assert classify(error).after_seconds == 42


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_e10_what_may_pass_is_tried_again_soon(status):
    result = classify(stated("SomeCode", status))
    assert (result.severity, result.retry) == ("Warning", RetryClass.SLOW)


def test_d4_a_retry_after_of_days_is_cut_to_an_hour():
    error = fault(503, {}, retry_after="604800")
    assert classify(error).after_seconds == 3600


def test_t6_a_429_without_retry_after_waits_five_seconds():
    assert classify(stated("RetryableError", 429)).after_seconds == 5
    assert classify(stated("Conflict", 409)).after_seconds == 0


def test_a_retry_after_date_is_measured_against_the_answers_own_clock():
    error = fault(
        429,
        {},
        retry_after="Wed, 21 Oct 2026 07:28:30 GMT",
        date="Wed, 21 Oct 2026 07:28:00 GMT",
    )
    assert error.retry_after_seconds == 30


def test_a_retry_after_date_falls_back_on_our_clock():
    answer = ArmResponse(429, {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"})
    now = datetime(2026, 10, 21, 7, 28, 10, tzinfo=UTC)
    assert parse_fault(answer, now=now).retry_after_seconds == 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "code", "Code", "message", "details", "innererror", "title"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.integers(300, 599))
def test_parsing_never_hides_the_status(body, status):
    error = fault(status, body)
    assert error.status == status
    assert error.code
    assert classify(error).retry in (RetryClass.SLOW, RetryClass.VERY_SLOW)


@given(st.binary(max_size=60))
def test_any_bytes_give_an_error_with_a_code(content):
    assert parse_fault(ArmResponse(500, {}, content)).code


NET = "/providers/Microsoft.Net/things"
ASKED = f"https://management.azure.com/subscriptions/s/resourceGroups/g{NET}/n%20m"
MAY_BE_IT = {
    "no ARM id": "100",
    "a name": "n m",
    "nothing": "",
    "slashes": "///",
    "a URL": f"https://management.azure.com/subscriptions/s/resourceGroups/g{NET}/x",
    "other case": f"/SUBSCRIPTIONS/s/ResourceGroups/G{NET.upper()}/N M",
    "encoded": f"/subscriptions/s/resourceGroups/g{NET}/n%20m",
    "a final slash": f"/subscriptions/s/resourceGroups/g{NET}/n m/",
    "no first slash": f"subscriptions/s/resourceGroups/g{NET}/x",
    "another subscription": f"/subscriptions/t/resourceGroups/g{NET}/n m",
    "no resource group": f"/subscriptions/s{NET}/n m",
    "the tenant": f"{NET}/n m",
    "the parent": "/subscriptions/s/resourceGroups/g",
    "another type": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/old/x",
    "another provider": "/subscriptions/s/resourceGroups/g/providers/Classic/things/x",
    "a child": f"/subscriptions/s/resourceGroups/g{NET}/n m/parts/x",
    "no name": f"/subscriptions/s/resourceGroups/g{NET}",
    "dots": f"/subscriptions/s/resourceGroups/g{NET}/..",
    "control characters": f"/subscriptions/s/resourceGroups/g{NET}/x\n",
}


@pytest.mark.parametrize("stated", MAY_BE_IT.values(), ids=MAY_BE_IT)
def test_l14_an_id_in_a_form_of_its_own_is_not_rejected(stated):
    assert not is_another(stated, ASKED)


@pytest.mark.parametrize(
    "stated",
    [
        f"/subscriptions/s/resourceGroups/g{NET}/x",
        f"/subscriptions/t/resourceGroups/g{NET}/x",
        f"{NET}/x",
        f"/subscriptions/s/resourceGroups/h{NET}/n m",
        f"/SUBSCRIPTIONS/s/RESOURCEGROUPS/H{NET.upper()}/N%20M/",
    ],
)
def test_l14_an_id_that_is_certainly_of_another_resource_is_rejected(stated):
    assert is_another(stated, ASKED)


SEGMENT = st.text(alphabet="ab/.%2 \n\u00fc", max_size=6) | st.sampled_from(
    ["subscriptions", "resourceGroups", "providers", "Microsoft.Net", "things", "n m"]
)


@given(st.lists(SEGMENT, max_size=9))
def test_l14_only_an_id_of_the_same_type_is_ever_rejected(segments):
    stated = "/" + "/".join(segments)
    if is_another(stated, ASKED):
        parts = [part for part in unquote(stated).lower().split("/") if part]
        assert "microsoft.net/things/" in "/".join(parts)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ResourceNotFound", "ResourceNotFound"),
        ("badRequest", "BadRequest"),
        ("Authorization_RequestDenied", "AuthorizationRequestDenied"),
        ("429", "UnknownError"),
        ("two words", "UnknownError"),
        ("line\nbreak", "UnknownError"),
        ("A" * 129, "UnknownError"),
        ("", "UnknownError"),
        ("Ünknown", "UnknownError"),
    ],
)
def test_the_reason_of_a_condition_is_a_word(code, reason):
    assert condition_reason(code) == reason
