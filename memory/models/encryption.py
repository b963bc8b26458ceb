"""The keys of encrypted spaces, and words under them.

Every encrypted space has data keys of its own; the key of the installation wraps them and stands
outside the database (KENO_CONTENT_KEY_FILE or KENO_CONTENT_PASSPHRASE). Words are kept as
`keno-enc:<space>.<version>:<nonce, AES-256-GCM>`, bound to their space and version. The nonce is a
keyed digest of the words: the same words in the same space look the same, so that equality, unique
keys and the history still work; see docs/decisions/0047.
"""

import base64
import hmac
import re
import secrets
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import argon2.low_level
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

PREFIX = "keno-enc:"
STORED = re.compile(r"keno-enc:(\d{1,18})\.(\d{1,9}):([A-Za-z0-9_-]+)")
NONCE, KEY_BYTES, SALT_BYTES, LEAST_FILE_BYTES = 12, 32, 16, 32
# How long a process may write as before after another one switched a space on or off.
CACHE_SECONDS = 2.0
KEY_MISSING = "[encrypted: the key of this installation is missing]"
NOT_READABLE = "[encrypted: it cannot be read with the key of this space]"
ALL = """
SELECT k.space_id, k.version, e.version IS NOT DISTINCT FROM k.version
FROM memory_spacekey k JOIN memory_spaceencryption e ON e.space_id = k.space_id
"""
ONE = "SELECT salt, wrapped FROM memory_spacekey WHERE space_id = %s AND version = %s"


class KeyMissing(OperationalError):
    """The space is encrypted and its key cannot be had: nothing may be written in plain.

    To whoever writes it is as if the database did not answer: a job tries again, a page says 503.
    """

    def __init__(self, space_id: int):
        super().__init__(
            f"Space {space_id} is encrypted and its key cannot be opened. Set KENO_CONTENT_KEY_FILE"
            " or KENO_CONTENT_PASSPHRASE to what it was encrypted with, and restart."
        )


@dataclass(frozen=True)
class Secret:
    """The key of the installation as it was given: the bytes of a file, or a passphrase."""

    value: bytes
    is_passphrase: bool = False

    def key(self, salt: bytes) -> bytes:
        """The key that wraps: by Argon2id from a passphrase, by HKDF from a file."""
        if not self.is_passphrase:
            return HKDF(SHA256(), KEY_BYTES, salt, b"keno content wrap").derive(self.value)
        return argon2.low_level.hash_secret_raw(
            self.value,
            salt,
            time_cost=3,
            memory_cost=64 * 1024,
            parallelism=2,
            hash_len=KEY_BYTES,
            type=argon2.low_level.Type.ID,
        )


def secret(*, key_file: str = "", passphrase: str = "") -> Secret | None:
    """The secret of this file or passphrase; None for neither, or for a file that is too short."""
    if key_file:
        try:
            value = Path(key_file).read_bytes().strip()
        except OSError:
            return None
        return Secret(value) if len(value) >= LEAST_FILE_BYTES else None
    return Secret(passphrase.encode(), is_passphrase=True) if passphrase else None


def installation() -> Secret | None:
    return secret(
        key_file=settings.KENO_CONTENT_KEY_FILE, passphrase=settings.KENO_CONTENT_PASSPHRASE
    )


def wrap(key: bytes, *, by: Secret, space_id: int, version: int) -> dict[str, str]:
    """The columns of a SpaceKey."""
    salt, nonce = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(NONCE)
    sealed = AESGCM(by.key(salt)).encrypt(nonce, key, _bound(space_id, version))
    return {"salt": salt.hex(), "wrapped": base64.urlsafe_b64encode(nonce + sealed).decode()}


def unwrap(salt: str, wrapped: str, *, by: Secret, space_id: int, version: int) -> bytes | None:
    """The data key, or None when it was wrapped by another secret."""
    data, cipher = base64.urlsafe_b64decode(wrapped), AESGCM(by.key(bytes.fromhex(salt)))
    try:
        return cipher.decrypt(data[:NONCE], data[NONCE:], _bound(space_id, version))
    except InvalidTag:
        return None


def _bound(space_id: int, version: int) -> bytes:
    return f"keno {space_id}.{version}".encode()


@dataclass(frozen=True)
class DataKey:
    """The key of one space, ready for use."""

    space_id: int
    version: int
    value: bytes = field(repr=False)

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), KEY_BYTES, None, b"keno content").derive(self.value))

    @cached_property
    def _digest_key(self) -> bytes:
        return HKDF(SHA256(), KEY_BYTES, None, b"keno content nonce").derive(self.value)

    @cached_property
    def _aad(self) -> bytes:
        return _bound(self.space_id, self.version)

    def encrypt(self, words: str) -> "Stored":
        plain = words.encode("utf-8", "surrogatepass")
        nonce = hmac.digest(self._digest_key, plain, "sha256")[:NONCE]
        data = nonce + self._cipher.encrypt(nonce, plain, self._aad)
        coded = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        return Stored(f"{PREFIX}{self.space_id}.{self.version}:{coded}")

    def decrypt(self, coded: str) -> str:
        data = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
        plain = self._cipher.decrypt(data[:NONCE], data[NONCE:], self._aad)
        return plain.decode("utf-8", "surrogatepass")


class Stored(str):
    """Words as they go into the database: encrypted already, not to be encrypted again."""

    __slots__ = ()


class Opened(str):
    """Words that were stored encrypted, and under which key."""

    key: DataKey


class Unreadable(str):
    """What is shown for words that cannot be read; saving the row keeps what is stored."""

    stored: str


@dataclass
class _Known:
    """What the process knows of the database: the keys there are, and what is written with them."""

    # Every (space, version) of which there is a key; and the version that each space writes with.
    pairs: list[tuple[int, int]] = field(default_factory=list)
    versions: dict[int, int] = field(default_factory=dict)
    until: float = 0.0
    keys: dict[tuple[int, int], DataKey | None] = field(default_factory=dict)
    keys_until: float = 0.0


# By database.
_known: dict[str, _Known] = {}


def forget() -> None:
    """Ask the database again: a space was switched, or a key is another one."""
    _known.clear()


def _here() -> _Known:
    return _known.setdefault(str(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"]), _Known())


def _fresh() -> _Known:
    known = _here()
    if known.until < time.monotonic():
        rows = _ask(ALL)
        known.pairs = [(space, version) for space, version, _writes in rows]
        known.versions = {space: version for space, version, writes in rows if writes}
        known.until = time.monotonic() + CACHE_SECONDS
    return known


def in_use() -> bool:
    """Whether this process has looked for a key: only then has it read anything encrypted."""
    return any(known.keys for known in _known.values())


def key_of(space_id: int, version: int) -> DataKey | None:
    """The data key, or None when it cannot be opened; a failure is tried again in a while."""
    known = _here()
    pair = (space_id, version)
    key = known.keys.get(pair)
    if key is None and (pair not in known.keys or known.keys_until < time.monotonic()):
        known.keys_until = time.monotonic() + CACHE_SECONDS
        key = known.keys[pair] = _load(*pair)
    return key


def _load(space_id: int, version: int) -> DataKey | None:
    by = installation()
    row = _ask(ONE, space_id, version)
    value = unwrap(*row[0], by=by, space_id=space_id, version=version) if row and by else None
    return DataKey(space_id, version, value) if value else None


def _ask(statement: str, *given: int) -> list[tuple]:
    """Past Django's cursor: nobody's query. The newest answer, never that of a replica."""
    default = connections[DEFAULT_DB_ALIAS]
    default.ensure_connection()
    with default.wrap_database_errors:
        return default.connection.execute(statement, given).fetchall()


def writer(space_id: int | None) -> DataKey | None:
    """The key that words of this space are written with; None: in plain."""
    version = _fresh().versions.get(space_id) if space_id else None
    if version is None or space_id is None:
        return None
    if (key := key_of(space_id, version)) is None:
        raise KeyMissing(space_id)
    return key


def encrypt(words: str, key: DataKey | None) -> str:
    """Words as they are stored: under the key, or in plain without one."""
    if not words or isinstance(words, Stored):
        return words
    if isinstance(words, Unreadable):
        return words.stored
    if key:
        return key.encrypt(words)
    # Nobody's own words may look like ours.
    return f" {words}" if words.startswith(PREFIX) else words


def decrypt(stored: Any) -> Any:
    """The words of what is stored, plain ones as they are. Never fails: it says why instead."""
    if not isinstance(stored, str) or not stored.startswith(PREFIX):
        return stored
    if not (found := STORED.fullmatch(stored)):
        return _unreadable(NOT_READABLE, stored)
    space_id, version = int(found[1]), int(found[2])
    key = key_of(space_id, version)
    if key is None:
        return _unreadable(KEY_MISSING, stored)
    try:
        opened = Opened(key.decrypt(found[3]))
    except (InvalidTag, ValueError):
        return _unreadable(NOT_READABLE, stored)
    opened.key = key
    return opened


def _unreadable(why: str, stored: str) -> Unreadable:
    shown = Unreadable(why)
    shown.stored = stored
    return shown


def foreign(words: Any, space_id: int) -> Unreadable | None:
    """What is shown for words under the key of another space: they do not belong to this row."""
    if isinstance(words, Opened) and words.key.space_id != space_id:
        return _unreadable(NOT_READABLE, words.key.encrypt(words))
    return None


def forms(words: str) -> list[str]:
    """Every form in which the words may be stored: plain, and under each key there is."""
    keys = (key_of(*pair) for pair in _fresh().pairs)
    return [words, *(str(key.encrypt(words)) for key in keys if key)]


def spaces() -> set[int]:
    """Those whose words may be encrypted: they are, or not yet all are plain again."""
    return {space for space, _version in _fresh().pairs}


def has_keys(space_id: int) -> bool:
    return space_id in spaces()


def any_keys() -> bool:
    """Whether there are encrypted spaces."""
    return bool(_fresh().pairs)


def opened(words: Any) -> Any:
    """What a plain cursor read, opened: words, or a title and a text put together line by line."""
    if not isinstance(words, str) or PREFIX not in words:
        return words
    lines = [decrypt(line) for line in words.split("\n")]
    unread = next((line for line in lines if isinstance(line, Unreadable)), None)
    return _unreadable(unread, words) if unread else "\n".join(lines).strip()
