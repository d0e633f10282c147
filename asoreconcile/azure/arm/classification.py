"""Decide how a failure of ARM is retried and shown in the Ready condition.

No other module interprets error codes. Pure. Rules: E4-E10, T6, R4.4-R4.6, R4.9.
"""

import re

import attrs

from asoreconcile.azure.arm.condition_error import RetryClass, Severity
from asoreconcile.azure.arm.error_body import CODES, UNKNOWN_CODE
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError

# T6: two thirds of the recorded 429s carry no Retry-After.
_BUSY_DELAY_SECONDS = 5.0
# A server that asks for days must not freeze an object: VERY_SLOW retries hourly, too.
_MAX_DELAY_SECONDS = 3600.0
_WORD = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


@attrs.frozen
class Classification:
    """The meaning of a failure for the condition and for the next try.

    after_seconds: a lower bound on the time of the next try, such as a `Retry-After`
    (D4).
    """

    severity: Severity
    retry: RetryClass
    code: str
    message: str
    after_seconds: float = 0.0


def classify(error: ArmError | ArmTransportError) -> Classification:
    """Return severity, retry class, code and message of a failure. Rule: R4.4.

    The exact code decides; for an unknown code the HTTP status: a 400 is retried very
    slowly, any other status slowly. Responses that are not JSON, and failures without a
    response, are `UnknownError`, Warning, slow, with their whole text. During a
    deletion the caller lowers the severity to Warning (DE3).
    """
    if isinstance(error, ArmTransportError):
        return Classification("Warning", RetryClass.SLOW, UNKNOWN_CODE, error.message)
    severity: Severity = "Error" if error.code in CODES["fatal"] else "Warning"
    return Classification(
        severity, _retry(error), error.code, _shown(error), _after(error)
    )


def condition_reason(code: str) -> str:
    """Return the reason of a condition that an error code becomes: a CamelCase word;
    `UnknownError` for any other code.

    The code may come from a proxy, or quote a part of the request. Graph writes
    underscores between words.
    """
    word = (code[:1].upper() + code[1:]).replace("_", "")
    return word if _WORD.fullmatch(word) else UNKNOWN_CODE


def _retry(error: ArmError) -> RetryClass:
    if error.code in CODES["fatal"] or error.code in CODES["verySlow"]:
        return RetryClass.VERY_SLOW
    if error.code in CODES["slow"] or not error.understood:
        return RetryClass.SLOW
    return RetryClass.VERY_SLOW if error.status == 400 else RetryClass.SLOW


def _after(error: ArmError) -> float:
    if error.retry_after_seconds is not None:
        return min(error.retry_after_seconds, _MAX_DELAY_SECONDS)
    return _BUSY_DELAY_SECONDS if error.status == 429 else 0.0


def _shown(error: ArmError) -> str:
    missing = [name for name in error.policies if name not in error.message]
    if not missing:
        return error.message
    return f"{error.message} (policy: {', '.join(missing)})"
