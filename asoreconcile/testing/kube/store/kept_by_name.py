"""The identity of a server with a data folder: its certificate authority and token.

They are stored so that kubeconfigs remain valid after a restart.
"""

from datetime import timedelta
from pathlib import Path

import attrs
import orjson

from asoreconcile.testing.kube.store.persistence import DataFolderError
from asoreconcile.testing.throwaway_certificates import (
    ShortLivedAuthority,
    certificate_authority,
    load_authority,
)

_FILE = "identity.json"
_LEAST = timedelta(days=1)


@attrs.frozen
class Identity:
    """The authority and the administrator's token, on which kubeconfigs rely."""

    authority: ShortLivedAuthority = attrs.field(repr=False)
    token: str = attrs.field(repr=False)


def kept(folder: Path, *, token: str, fresh: str) -> Identity:
    """Return the identity of a data folder. It is made if it is missing or expires
    soon.

    token: the administrator's token; "" for the stored one, or `fresh` if none is
    stored.

    Raises DataFolderError.
    """
    path = folder / _FILE
    known = Identity(certificate_authority(), token or fresh)
    if path.exists():
        try:
            found = orjson.loads(path.read_bytes())
            authority = load_authority(found["ca"].encode(), found["key"].encode())
            known = Identity(authority, token or str(found["token"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{path} cannot be read: {error}"
            raise DataFolderError(message) from error
        if authority.lasts < _LEAST:
            known = Identity(certificate_authority(), known.token)
    _write(path, known)
    return known


def _write(path: Path, identity: Identity) -> None:
    content = orjson.dumps(
        {
            "ca": identity.authority.pem.decode(),
            "key": identity.authority.key_pem.decode(),
            "token": identity.token,
        }
    )
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_bytes(content)
    fresh.replace(path)
