"""One reason of an Invalid answer, as the API server words it."""

import attrs

from asoreconcile.base.objects import JsonObject


@attrs.frozen
class Cause:
    """One reason of an Invalid answer: the field, and its mistake."""

    field: str
    reason: str
    message: str

    def to_json(self) -> JsonObject:
        """Return the cause as in `details.causes`."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(field: str, why: str = "") -> Cause:
    """Return the cause of a field that is missing."""
    text = f"Required value: {why}" if why else "Required value"
    return Cause(field, "FieldValueRequired", text)


def forbidden(field: str, why: str) -> Cause:
    """Return the cause of a field that must not be there."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def invalid(field: str, value: object, why: str) -> Cause:
    """Return the cause of a wrong value. value: a value of JSON; text is quoted."""
    shown = f'"{value}"' if isinstance(value, str) else value
    if isinstance(value, bool):
        shown = str(value).lower()
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {why}")


def unsupported(field: str, value: str, allowed: tuple[str, ...]) -> Cause:
    """Return the cause of a value that is not one of the allowed ones."""
    listed = ", ".join(f'"{one}"' for one in allowed)
    why = f'Unsupported value: "{value}": supported values: {listed}'
    return Cause(field, "FieldValueNotSupported", why)
