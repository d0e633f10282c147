"""Users: bearer tokens with their users, service accounts and groups."""

import csv
import hmac
import secrets
import threading
from collections.abc import Iterable
from pathlib import Path

import attrs

from asoreconcile.base.objects import JsonObject

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
_ACCOUNTS = "system:serviceaccounts"


@attrs.frozen
class User:
    """A name and groups. Every user is also in the group `system:authenticated`."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def all_groups(self) -> tuple[str, ...]:
        """Return the groups with `system:authenticated`, which kube-apiserver also
        adds.
        """
        if AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self.groups
        return (*self.groups, AUTHENTICATED)

    def to_json(self) -> JsonObject:
        """Return the user in the form of reviews."""
        shown: JsonObject = {"username": self.name, "groups": list(self.all_groups)}
        return {**shown, "uid": self.uid} if self.uid else shown


ADMIN = User("admin", (MASTERS,), "admin")
ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """Return the user of a service account."""
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


class Users:
    """The tokens and their users. Safe to use from any thread."""

    def __init__(self, tokens: Iterable[tuple[str, User]]) -> None:
        self._lock = threading.Lock()
        self._tokens = [(token.encode(), user) for token, user in tokens]

    def add(self, user: User, token: str = "") -> str:
        """Add a user; return the user's token, which is new by default."""
        token = token or secrets.token_urlsafe(24)
        with self._lock:
            self._tokens.append((token.encode(), user))
        return token

    def rotate(self, old: str, new: str) -> None:
        """Replace a token by another one of the same user."""
        with self._lock:
            self._tokens = [
                (new.encode() if token == old.encode() else token, user)
                for token, user in self._tokens
            ]

    def of_header(self, authorization: str) -> User | None:
        """Return the user of the bearer token in an Authorization header, or None."""
        scheme, _, token = authorization.partition(" ")
        return self.of_token(token.strip()) if scheme.lower() == "bearer" else None

    def of_token(self, token: str) -> User | None:
        """Return the user of a token, or None. Tokens are compared in constant time."""
        given = token.encode()
        with self._lock:
            known = list(self._tokens)
        for expected, user in known:
            if hmac.compare_digest(given, expected):
                return user
        return None


def read_tokens(path: str | Path) -> list[tuple[str, User]]:
    """Read tokens from a file in the format of kube-apiserver's --token-auth-file.

    A line is `token,user,uid,"group,group"`. Raises ValueError for other lines.
    """
    found = []
    with Path(path).open(newline="") as file:
        for number, fields in enumerate(csv.reader(file, skipinitialspace=True), 1):
            if not fields or fields[0].startswith("#"):
                continue
            if len(fields) not in (3, 4) or not fields[0] or not fields[1]:
                message = f'{path}:{number}: expected token,user,uid,"group,group"'
                raise ValueError(message)
            listed = fields[3].split(",") if len(fields) == 4 else []
            groups = tuple(group.strip() for group in listed if group.strip())
            found.append((fields[0], User(fields[1], groups, fields[2])))
    return found
