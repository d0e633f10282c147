"""What a server with a data folder keeps besides objects, so that kubeconfigs written
before a restart are good after it: its certificate authority and its token.
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
    """What kubeconfigs rely on: the authority they trust and the
    administrator's token.
    """

    authority: ShortLivedAuthority = attrs.field(repr=False)
    token: str = attrs.field(repr=False)


def kept(folder: Path, *, token: str, fresh: str) -> Identity:
    """The identity of a data folder; made and written when it is new or runs out.

    token: to have, "" for the kept one, or `fresh` where none is. Raises
    DataFolderError.
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
