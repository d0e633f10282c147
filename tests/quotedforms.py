"""The forms in which log lines and answers quote a secret."""

import base64
import html
import json
import urllib.parse


def quoted_forms(value: str) -> dict[str, str]:
    """Return the value in each form, by name. A reader of the form can restore the
    value.
    """
    data = value.encode()
    once = json.dumps(value)[1:-1]
    percent = urllib.parse.quote(value, safe="")
    forms = {
        "raw": value,
        "upper": value.upper(),
        "lower": value.lower(),
        "percent": percent,
        "percent twice": urllib.parse.quote(percent, safe=""),
        "form": urllib.parse.quote_plus(value),
        "html": html.escape(value),
        "html twice": html.escape(html.escape(value)),
        "json": once,
        "json twice": json.dumps(once)[1:-1],
        "json in html": html.escape(once),
        "percent in json": json.dumps(percent)[1:-1],
        "repr": repr(value)[1:-1],
        "base64 percent": urllib.parse.quote(base64.b64encode(data).decode(), safe=""),
    }
    for before in range(3):
        near = bytes(before) + data + b"!"
        forms[f"base64 {before}"] = base64.b64encode(near).decode()
        forms[f"base64url {before}"] = base64.urlsafe_b64encode(near).decode()
    forms["base64 upper"] = forms["base64 1"].upper()
    return forms


def core(name: str, form: str) -> str:
    """Return the part of a form that shares no character with its neighbours."""
    return form[4:-6] if name.startswith("base64") else form
