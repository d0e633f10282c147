"""The forms in which texts quote a secret, as those who log and answer make them."""

import base64
import html
import json
import urllib.parse


def quoted_forms(value):
    """name -> the value in one form. Each tells the value to who knows the form."""
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


def core(name, form):
    """The part of a form that neighbours share no character of: it must not be seen."""
    return form[4:-6] if name.startswith("base64") else form
