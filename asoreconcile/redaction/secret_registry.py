"""The secrets that are known, by namespace, and the search for them in texts.

Every pattern is indexed by pieces of GRAM characters, a stride apart; a text is looked
up at each of its positions, and each match is extended to both sides. So the time for a
text does not grow with the number of secrets: about 0.1 us a character.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping

from asoreconcile.redaction.forms import (
    GRAM,
    SHORT,
    Pattern,
    lowered,
    patterns_of,
    short_forms,
    spelled,
)
from asoreconcile.redaction.views import View, views

HIDDEN = "***"
MAX_TEXT = 1 << 17
# About 200 bytes each: of the operator's own values, and of all namespaces together.
_MAX_OWN_PIECES = 40_000
_MAX_PIECES = 60_000
_MAX_SHORT = 256
# More places than this to look at in one text: hide all of it.
_MAX_PLACES = 20_000
# Reasons and messages of conditions; longer texts are seldom the same.
_MAX_AGAIN = 120
_MAX_SHOWN = 1000
# Of one piece: patterns that share it, and places of it within one pattern.
_MAX_SHARING = 32
_MAX_REPEATED = 2
# Values that ordinary texts say all the time; only quotes tell them apart.
_WORDS = """
all and any are arm bad been but can did does end etag for from get had has have here
his how http into its key last less line list low make max may min more must name new
next nil none not now null off old one only open out over own part path port post put
read rest role root run same see set sku some such than that the them then they this
tier time tls too top true two type unit url use used user very was way when will with
yes you your zone
"""
_COMMON = frozenset(_WORDS.split())
_QUOTE = r"'\"`=(\[{<>"
_END = r"'\"`)\]}<>,;.&\s"

_Place = tuple[Pattern, int]
_Span = tuple[int, int]


class _Scope:
    """The secrets of one namespace. The registry's lock guards changes, not reads."""

    def __init__(self) -> None:
        self.index: dict[str, tuple[_Place, ...]] = {}
        self.pieces = 0
        self.short_pattern: re.Pattern[str] | None = None
        self._values: OrderedDict[str, list[Pattern]] = OrderedDict()
        self._short: OrderedDict[str, None] = OrderedDict()

    @property
    def is_empty(self) -> bool:
        return not self.index and self.short_pattern is None

    def knows(self, value: str) -> bool:
        return value in (self._short if len(value) < SHORT else self._values)

    def register(self, value: str) -> None:
        if len(value) < SHORT:
            is_new = value not in self._short
            self._short[value] = None
            self._short.move_to_end(value)
            if len(self._short) > _MAX_SHORT:
                self._short.popitem(last=False)
            if is_new:
                self.short_pattern = _short_pattern(self._short)
        elif value in self._values:
            self._values.move_to_end(value)
        else:
            found = self._values[value] = patterns_of(value)
            for pattern in found:
                self._add(pattern)

    def forget_oldest(self) -> None:
        _, found = self._values.popitem(last=False)
        for pattern in found:
            for piece, _ in _pieces(pattern):
                self._drop(piece, pattern)

    def _add(self, pattern: Pattern) -> None:
        for piece, offset in _pieces(pattern):
            places = self.index.get(piece, ())
            if sum(p is pattern for p, _ in places) < _MAX_REPEATED:
                kept = (*places, (pattern, offset))[-_MAX_SHARING:]
                self.index[piece] = kept
                self.pieces += len(kept) - len(places)

    def _drop(self, piece: str, pattern: Pattern) -> None:
        places = self.index.get(piece, ())
        kept = tuple(place for place in places if place[0] is not pattern)
        self.pieces -= len(places) - len(kept)
        if kept:
            self.index[piece] = kept
        else:
            self.index.pop(piece, None)


class SecretRegistry:
    """The registered secrets. If full, the largest namespace loses its oldest one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = _Scope()
        self._scopes: dict[str, _Scope] = {}
        self._pieces = 0  # of all namespaces
        # Results for texts that repeat, with the secrets known now; replaced when a
        # secret is added. A thread that began with fewer secrets fills the old mapping.
        self._shown: dict[tuple[str | None, str], str] = {}

    def hold(self) -> None:
        """Prevent changes until `let_go`, while the process forks."""
        self._lock.acquire()

    def let_go(self) -> None:
        """Allow changes again, after `hold`."""
        self._lock.release()

    def register(self, value: str, *, namespace: str = "") -> None:
        """Hide a value from now on; registering it again costs little.

        namespace: the owner of the value. With "" the value is hidden in the texts of
        all namespaces: never use "" for a value that an author of custom resources can
        choose.
        """
        if not value:
            return
        with self._lock:
            scope = self._scopes.get(namespace) if namespace else self._own
            is_news = scope is None or not scope.knows(value)
            if namespace:
                self._know_of(namespace, value)
            else:
                own = self._own
                own.register(value)
                while own.pieces > _MAX_OWN_PIECES:
                    own.forget_oldest()
            if is_news:
                self._shown = {}

    def redact(self, text: str, *, namespace: str | None = "") -> str:
        """Return the text with `***` for each known secret, cut at MAX_TEXT characters.

        namespace: namespace of the object that the text is about, "" if there is no
        such object. If it is None, the text may be about any namespace and its readers
        may read all of them; then values below SHORT characters of other namespaces
        stay.
        """
        if len(text) > _MAX_AGAIN:
            return self._redacted(text, namespace)
        shown, asked = self._shown, (namespace, text)
        known = shown.get(asked)
        if known is None:
            known = self._redacted(text, namespace)
            if len(shown) < _MAX_SHOWN:
                shown[asked] = known
            else:
                self._shown = {}
        return known

    def _redacted(self, text: str, namespace: str | None) -> str:
        if len(text) > MAX_TEXT:
            text = text[:MAX_TEXT] + "..."
        own = [self._own]
        if namespace and (theirs := self._scopes.get(namespace)):
            own.append(theirs)
        others = list(self._scopes.values()) if namespace is None else []
        if not text or not (others or any(not scope.is_empty for scope in own)):
            return text
        spans: list[_Span] = []
        for view in views(text):
            places = _matches(view, own, others)
            if places is None:
                return HIDDEN
            spans.extend(view.span(*span) for span in places)
        return _without(text, spans) if spans else text

    def forget_all(self) -> None:
        """Forget all values. For tests."""
        with self._lock:
            self._own, self._scopes, self._pieces = _Scope(), {}, 0
            self._shown = {}

    def _know_of(self, namespace: str, value: str) -> None:
        """Add a value to a namespace's secrets. The caller holds the lock."""
        scope = self._scopes.get(namespace)
        if scope is None:
            scope = _Scope()
            self._scopes = {**self._scopes, namespace: scope}
        before = scope.pieces
        scope.register(value)
        self._pieces += scope.pieces - before
        while self._pieces > _MAX_PIECES:
            largest = max(self._scopes.values(), key=lambda s: s.pieces)
            before = largest.pieces
            largest.forget_oldest()
            self._pieces += largest.pieces - before

    def __repr__(self) -> str:
        return "SecretRegistry(...)"


def _matches(view: View, own: list[_Scope], others: list[_Scope]) -> list[_Span] | None:
    """Return the spans of secrets in one view of a text; None if there are too many.

    others: the other scopes, of which most have no secret in the text.
    """
    spans: list[_Span] = []
    text = spelled(view.text)
    at = range(len(text) - GRAM + 1)
    if others:
        pieces = {text[i : i + GRAM] for i in at}
        others = [s for s in others if not s.index.keys().isdisjoint(pieces)]
    for scope in (*own, *others):
        index = scope.index
        places = [i for i in at if text[i : i + GRAM] in index] if index else []
        if len(places) > _MAX_PLACES:
            return None
        spans += _extended(text, places, index)
    for scope in own:
        if scope.short_pattern is not None:
            lower = lowered(view.text)
            spans += [m.span() for m in scope.short_pattern.finditer(lower)]
    return spans


def _extended(
    text: str, places: Iterable[int], index: Mapping[str, tuple[_Place, ...]]
) -> Iterator[_Span]:
    """Yield the longest piece of a pattern around each place, if it is long enough."""
    end = 0
    for at in places:
        if at < end:
            continue
        known = index.get(text[at : at + GRAM], ())
        found = [span for one in known if (span := _around(text, at, end, one))]
        if found:
            span = max(found, key=lambda s: s[1] - s[0])
            end = span[1]
            yield span


def _around(text: str, at: int, after: int, place: _Place) -> _Span | None:
    """Return the piece of a pattern at a place of the text; None if it is too short.

    after: the end of the last span found.
    """
    pattern, offset = place
    known = pattern.text
    before = 0
    room = min(at - after, offset)
    while before < room and text[at - before - 1] == known[offset - before - 1]:
        before += 1
    length = GRAM
    room = min(len(text) - at, len(known) - offset)
    while length < room and text[at + length] == known[offset + length]:
        length += 1
    if not pattern.counts(offset - before, offset + length):
        return None
    begin, end = at - before, at + length
    if pattern.is_encoded:
        begin -= begin > after and _is_base64(text[begin - 1])
        end += end < len(text) and _is_base64(text[end])
    return begin, end


def _is_base64(char: str) -> bool:
    return char.isalnum() or char in "+/"


def _without(text: str, spans: list[_Span]) -> str:
    kept: list[str] = []
    at = 0
    for begin, end in sorted(spans):
        if begin >= at:
            kept += [text[at:begin], HIDDEN]
        at = max(at, end)
    return "".join((*kept, text[at:]))


def _pieces(pattern: Pattern) -> Iterable[tuple[str, int]]:
    text = pattern.text
    for offset in range(0, len(text) - GRAM + 1, pattern.stride):
        yield text[offset : offset + GRAM], offset


def _short_pattern(values: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds short values.

    Values of GRAM characters or more match anywhere, shorter ones only as separate
    words, and the shortest, as well as values that are words, only in quotes.
    """
    forms: dict[str, str] = {}
    for value in values:
        for form in short_forms(value):
            exact = re.escape(form)
            if len(form) >= GRAM:
                forms[form] = exact
            elif len(form) < 3 or form in _COMMON:
                forms[form] = rf"(?:(?<=[{_QUOTE}:])|(?<=[:=]\s)){exact}(?=[{_END}]|$)"
            else:
                forms[form] = rf"(?<![^\W_]){exact}(?![^\W_])"
    if not forms:
        return None
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(forms[form] for form in longest_first))
