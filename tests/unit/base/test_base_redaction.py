"""Secrets in texts: found in every form they are quoted in, and nothing else is."""

import base64
import json
import logging
import random
import string
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quotedforms import core, quoted_forms
from sources import ROOT

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import JsonFormatter, Logger, TextFormatter, bound
from asoreconcile.base.objects import ObjectKey
from asoreconcile.redaction import HIDDEN, MAX_TEXT, SecretRegistry, redact, register
from asoreconcile.redaction.secret_registry import (
    _MAX_OWN_PIECES,
    _MAX_PIECES,
    _MAX_SHOWN,
)

SECRETS = [
    "canary-7f3e9a1b-password",
    'Sesame-"1"\\9f8e\'7d&<x>%41/+=',
    "correct horse battery staple 9",
    "p\u00e4ssw\u00f6rt-\u20ac-71ac\U0001f600 und mehr",
    "hunter2!",
]
FORMS = sorted(quoted_forms("x" * 20))


@pytest.fixture
def registry():
    return SecretRegistry()


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_hidden(registry, secret, form):
    registry.register(secret)
    quoted = quoted_forms(secret)[form]
    text = registry.redact(f'{{"message": "The value {quoted} is refused."}}')
    assert HIDDEN in text
    assert core(form, quoted) not in text
    assert text.startswith('{"message": "The value ')
    assert text.endswith(' is refused."}')


def test_forms_that_are_not_found_are_on_the_page_about_security(registry):
    """A form that is hidden one day leaves the page, and this test."""
    token = "".join(
        random.Random(1).choices(string.ascii_letters + string.digits, k=900)
    )
    registry.register(token)
    forms = {
        "hexadecimal": token.encode().hex(),
        "base32": base64.b32encode(token.encode()).decode(),
        "list of numbers": str(list(token.encode())),
        "backwards": token[::-1],
        "base64 is encoded in base64": base64.b64encode(
            base64.b64encode(token.encode())
        ).decode(),
        "fewer than": "\n".join(token[at : at + 12] for at in range(0, 900, 12)),
    }
    page = " ".join((ROOT / "deploy" / "docs" / "security.md").read_text().split())
    for words, text in forms.items():
        assert registry.redact(text) == text, words
        assert words in page
    pieces = "\n".join(token[at : at + 32] for at in range(0, 900, 32))
    assert token[:32] not in registry.redact(pieces)


@given(
    secret=st.text(st.characters(codec="utf-8"), min_size=8, max_size=40).filter(
        lambda s: len(set(s)) > 3
    ),
    form=st.sampled_from([name for name in FORMS if name != "upper"]),
)
def test_any_secret_is_hidden_in_any_form(secret, form):
    registry = SecretRegistry()
    registry.register(secret)
    assert HIDDEN in registry.redact(f"<{quoted_forms(secret)[form]}>")


@pytest.mark.parametrize("secret", [*SECRETS[:4], "Zq8~" * 9, "s3cr3t-" * 200])
@pytest.mark.parametrize("encoding", ["raw", "percent", "json", "base64 0"])
def test_what_is_left_of_a_cut_secret_is_hidden(registry, secret, encoding):
    registry.register(secret)
    whole = quoted_forms(secret)[encoding].rstrip("=")[:-3]
    half = len(whole) // 2
    for cut in (whole[:half], whole[half:], whole[half // 2 : -half // 2], whole[:-1]):
        assert cut[2:-2] not in registry.redact(f"The value '{cut}' is refused")


def test_a_text_cut_in_the_middle_of_a_secret_shows_no_more_than_a_few_letters(
    registry,
):
    secret = "Tr0ub4dor-and-3-more-words"
    registry.register(secret)
    for length in range(1, len(secret)):
        shown = registry.redact(f"refused: {secret[:length]}").partition(": ")[2]
        assert not secret.startswith(shown) or len(shown) < 8


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        ("hunter2", "bad 'hunter2'", "bad '***'"),
        ("hunter2", "bad aHVudGVyMg==", "bad ***g=="),
        ("x9!z", "bad 'x9!z', x9!z", "bad '***', ***"),
        ("x9!z", "prefix9!z", "prefix9!z"),
        ("4711", "code 4711.", "code ***."),
        ("4711", "/subscriptions/84711200", "/subscriptions/84711200"),
        ("the", "the password 'the'", "the password '***'"),
        ("ab", "ab is 'ab' in=ab", "ab is '***' in=***"),
        ("a", 'a "a"', 'a "***"'),
        ("abc", "YWJj or abc", "*** or ***"),
    ],
)
def test_short_values_are_hidden_where_they_can_be_distinctions_of(
    registry, secret, text, shown
):
    registry.register(secret)
    assert registry.redact(text) == shown


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("canary-password-71ac", "the administratorLoginPassword is a password"),
        ("Password1234!", "the password has to have 8 characters"),
        (
            "AccountEndpoint=https://db.documents.azure.com:443/;AccountKey=Zm9vYmFyYmF6",
            "cannot reach https://db.documents.azure.com:443/",
        ),
        ("https://acc.blob.core.windows.net/c?sig=abcdef0123", "https://acc.blob"),
        ("db.postgres.database.azure.com", "other.postgres.database.azure.com"),
        ("00000000-0000-0000-0000-00000000abcd", "00000000-0000-0000-0000-0000"),
    ],
)
def test_ordinary_words_stay(registry, secret, text):
    registry.register(secret)
    assert registry.redact(text) == text


def test_the_key_of_a_connection_string_is_hidden_wherever_it_stands(registry):
    registry.register("Endpoint=sb://bus.example/;SharedAccessKey=Zm9vYmFyYmF6cXV4")
    text = registry.redact("sb://bus.example/ refuses Zm9vYmFyYmF6cXV4")
    assert text == "sb://bus.example/ refuses ***"


def test_a_namespace_is_a_boundary(registry):
    registry.register("Reconciling-the-shop", namespace="shop")
    assert registry.redact("Reconciling-the-shop", namespace="shop") == HIDDEN
    for other in ("", "bank"):
        text = registry.redact("Reconciling-the-shop", namespace=other)
        assert text == "Reconciling-the-shop"
    registry.register("operators-own-41")
    assert registry.redact("operators-own-41", namespace="bank") == HIDDEN


def test_a_text_that_may_be_about_any_namespace_shows_nobodys(registry):
    registry.register("the-shops-own-77", namespace="shop")
    registry.register("the-banks-own-88", namespace="bank")
    registry.register("s3cr3t", namespace="bank")
    text = "the-shops-own-77 dGhlLWJhbmtzLW93bi04OA== s3cr3t"
    assert registry.redact(text, namespace=None) == "*** ***== s3cr3t"


def test_what_is_known_is_bounded_and_the_rest_pays_for_who_has_much(registry):
    registry.register("a-quiet-neighbour-99", namespace="quiet")
    letters = random.Random(1)
    for _ in range(2000):
        registry.register(f"{letters.getrandbits(400):x}", namespace="loud")
        registry.register(f"{letters.getrandbits(400):x}")
    held = {name: scope.pieces for name, scope in registry._scopes.items()}
    assert sum(held.values()) == registry._pieces <= _MAX_PIECES
    assert registry._own.pieces <= _MAX_OWN_PIECES
    assert held["loud"] > _MAX_PIECES - 1000
    shown = registry.redact("a-quiet-neighbour-99", namespace="quiet")
    assert shown == HIDDEN


def test_a_value_in_use_is_not_the_first_to_be_forgotten(registry):
    letters = random.Random(2)
    registry.register("always-in-use-17")
    for _ in range(3000):
        registry.register(f"{letters.getrandbits(400):x}")
        registry.register("always-in-use-17")
    assert registry.redact("always-in-use-17") == HIDDEN


def test_a_forgotten_value_leaves_nothing_behind(registry):
    letters = random.Random(3)
    for _ in range(30):
        registry.register(f"{letters.getrandbits(400):x}")
    for _ in range(30):
        registry._own.forget_oldest()
    assert (registry._own.pieces, registry._own.index) == (0, {})


def test_a_text_that_is_all_suspicion_is_hidden_whole(registry):
    registry.register("abcde" * 40)
    assert registry.redact("zabcde" * 25_000) == HIDDEN


def test_a_long_text_is_cut(registry):
    registry.register("something-9")
    assert len(registry.redact("x" * (2 * MAX_TEXT))) == MAX_TEXT + 3


def test_what_is_known_is_in_no_repr(registry):
    registry.register("something-9-to-hide")
    assert "something" not in repr(registry) + repr(registry._own)


def test_a_text_that_was_shown_hides_what_is_known_since(registry):
    text = "signed in with correct-horse-battery"
    for _ in range(2):
        assert registry.redact(text, namespace="n") == text
    registry.register("correct-horse-battery", namespace="n")
    for _ in range(2):
        assert HIDDEN in registry.redact(text, namespace="n")
        assert registry.redact(text, namespace="other") == text
        assert HIDDEN in registry.redact(text, namespace=None)
    registry.register("signed in with")
    assert "signed" not in registry.redact(text, namespace="other")


def test_texts_that_are_said_again_are_kept_within_bounds(registry):
    registry.register("correct-horse-battery")
    for number in range(3 * _MAX_SHOWN):
        text = f"{number} correct-horse-battery"
        assert registry.redact(text) == f"{number} {HIDDEN}"
        assert len(registry._shown) <= _MAX_SHOWN


def test_many_threads_know_and_redact_at_once(registry):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    seen = []

    def work(seed):
        letters = random.Random(seed)
        for _ in range(200):
            secret = f"{letters.getrandbits(200):x}"
            registry.register(secret, namespace=f"n{seed % 3}")
            seen.append(registry.redact(f"<{secret}>", namespace=f"n{seed % 3}"))

    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert set(seen) == {f"<{HIDDEN}>"}
    assert len(seen) == 1200


@pytest.fixture
def lines():
    """What a process writes, as JSON and as text."""
    found = []

    class Lines(logging.Handler):
        def emit(self, record):
            found.append(JsonFormatter().format(record))
            found.append(TextFormatter().format(record))

    handler = Lines()
    root = logging.getLogger()
    root.addHandler(handler)
    yield found
    root.removeHandler(handler)


def test_no_field_of_a_record_shows_a_secret(lines, caplog):
    register("canary-1-secret", namespace="shop")
    error = AsoreconcileError("quotes canary-1-secret")
    with bound(namespace="shop"):
        Logger("asoreconcile.test").error(
            "It failed",
            text="canary-1-secret",
            several=["canary-1-secret", {"inner": error}],
            error=error,
            count=1,
        )
    assert len(lines) == 2
    records = [str(vars(record)) for record in caplog.records]
    assert all("canary-1" not in text for text in (*lines, *records))
    assert json.loads(lines[0])["several"] == [HIDDEN, {"inner": "quotes ***"}]
    assert json.loads(lines[0])["count"] == 1


def test_a_key_reads_the_same_whether_its_record_holds_a_secret_or_not(lines):
    register("canary-4-secret", namespace="shop")
    key = ObjectKey("shop", "a")
    for text in ("nothing", "canary-4-secret"):
        Logger("asoreconcile.test").error("It failed", text=text, object=key)
    assert [json.loads(line)["object"] for line in lines[::2]] == ["shop/a"] * 2
    assert all("object=shop/a" in line for line in lines[1::2])


def test_no_stack_and_no_record_of_another_library_shows_a_secret(lines):
    register("canary-2-secret")
    log = Logger("asoreconcile.test")
    try:
        raise AsoreconcileError("quotes canary-2-secret")
    except AsoreconcileError:
        log.exception("It failed")
        logging.getLogger("other").exception("about %s", "canary-2-secret")
    assert len(lines) == 4
    assert all("canary-2" not in line for line in lines)
    assert all(HIDDEN in line and "AsoreconcileError" in line for line in lines)


def test_a_record_that_says_no_namespace_shows_nobodys_secrets(lines):
    register("canary-3-secret", namespace="shop")
    Logger("asoreconcile.test").error("It failed", error="canary-3-secret")
    logging.getLogger("azure.identity").warning("failed: %s", "canary-3-secret")
    assert len(lines) == 4
    assert all("canary-3" not in line and HIDDEN in line for line in lines)


def test_nothing_known_costs_nothing():
    assert redact("all of it") == "all of it"
