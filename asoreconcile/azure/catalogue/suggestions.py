"""Suggest the known word that was probably meant."""

from collections.abc import Collection, Iterable

from asoreconcile.base.foreign_text import NAME

_LISTED = 10


def closest(word: str, known: Iterable[str], *, count: int = 1) -> list[str]:
    """Return the closest of the known words, best first; [] if none is close.

    A word that differs only in letter case comes first. No word is close to one that is
    longer than a name: its author may have chosen any length. Pure.
    """
    if not NAME.fits(word):
        return []
    from difflib import get_close_matches

    by_fold: dict[str, str] = {}
    for candidate in sorted(known):
        by_fold.setdefault(candidate.casefold(), candidate)
    # difflib's own bound: below it a suggestion has little to do with the word.
    close = get_close_matches(word.casefold(), by_fold, n=count, cutoff=0.6)
    return [by_fold[fold] for fold in close]


def lacking(key: str, known: Collection[str]) -> str:
    """Return `; did you mean X? (it has X, Y)` for a missing key. Shows names only."""
    listed = sorted(known)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"{hint(key, known)} (it has {', '.join(listed[:_LISTED]) or 'none'}{more})"


def hint(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for an error message, or "" if no word is close."""
    close = closest(word, known)
    return f"; did you mean {close[0]}?" if close else ""
