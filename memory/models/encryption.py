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
NONCE_BYTES = 12
KEY_BYTES = 32
SALT_BYTES = 16
MIN_FILE_BYTES = 32
# How long after another process switched a space a process may still write in the old form.
CACHE_SECONDS = 2.0
KEY_MISSING = "[encrypted: the key of this installation is missing]"
NOT_READABLE = "[encrypted: it cannot be read with the key of this space]"
KEYS_SQL = """
SELECT k.space_id, k.version, e.version IS NOT DISTINCT FROM k.version
FROM memory_spacekey k JOIN memory_spaceencryption e ON e.space_id = k.space_id
"""
KEY_SQL = "SELECT salt, wrapped FROM memory_spacekey WHERE space_id = %s AND version = %s"


class KeyMissing(OperationalError):
    """The space is encrypted and its key cannot be opened: nothing may be written in plain.

    It counts as a failure of the database: a job tries again, a page answers 503.
    """

    def __init__(self, space_id: int):
        super().__init__(
            f"Space {space_id} is encrypted and its key cannot be opened. Set KENO_CONTENT_KEY_FILE"
            " or KENO_CONTENT_PASSPHRASE to what it was encrypted with, and restart."
        )


@dataclass(frozen=True)
class Secret:
    """The key of the installation as it is set: the bytes of a file, or a passphrase."""

    value: bytes
    is_passphrase: bool = False

    def key(self, salt: bytes) -> bytes:
        """Derive the key that wraps: by Argon2id from a passphrase, by HKDF from a file."""
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
    """Return the secret of this file or passphrase; None for neither, or for a short file."""
    if key_file:
        try:
            value = Path(key_file).read_bytes().strip()
        except OSError:
            return None
        return Secret(value) if len(value) >= MIN_FILE_BYTES else None
    return Secret(passphrase.encode(), is_passphrase=True) if passphrase else None


def installation() -> Secret | None:
    return secret(
        key_file=settings.KENO_CONTENT_KEY_FILE, passphrase=settings.KENO_CONTENT_PASSPHRASE
    )


def wrap(key: bytes, *, by: Secret, space_id: int, version: int) -> dict[str, str]:
    """Return the columns of a SpaceKey."""
    salt, nonce = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(NONCE_BYTES)
    sealed = AESGCM(by.key(salt)).encrypt(nonce, key, _bound(space_id, version))
    return {"salt": salt.hex(), "wrapped": base64.urlsafe_b64encode(nonce + sealed).decode()}


def unwrap(salt: str, wrapped: str, *, by: Secret, space_id: int, version: int) -> bytes | None:
    """Return the data key, or None when another secret wrapped it."""
    data, cipher = base64.urlsafe_b64decode(wrapped), AESGCM(by.key(bytes.fromhex(salt)))
    try:
        return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], _bound(space_id, version))
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
        nonce = hmac.digest(self._digest_key, plain, "sha256")[:NONCE_BYTES]
        data = nonce + self._cipher.encrypt(nonce, plain, self._aad)
        coded = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        return Stored(f"{PREFIX}{self.space_id}.{self.version}:{coded}")

    def decrypt(self, coded: str) -> str:
        data = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
        plain = self._cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], self._aad)
        return plain.decode("utf-8", "surrogatepass")


class Stored(str):
    """Words as they go into the database: encrypted already, not to be encrypted again."""

    __slots__ = ()


class Decrypted(str):
    """Words that were stored encrypted, and under which key."""

    key: DataKey


class Unreadable(str):
    """What is shown for words that cannot be read; saving the row keeps what is stored."""

    stored: str


@dataclass
class _KeyCache:
    """The keys in the database, as this process last read them."""

    # Every (space, version) with a key; and the version that each space writes with.
    pairs: list[tuple[int, int]] = field(default_factory=list)
    versions: dict[int, int] = field(default_factory=dict)
    until: float = 0.0
    keys: dict[tuple[int, int], DataKey | None] = field(default_factory=dict)
    keys_until: float = 0.0


# By database.
_caches: dict[str, _KeyCache] = {}


def forget() -> None:
    """Clear the cache: a space was switched, or a key has changed."""
    _caches.clear()


def _cache() -> _KeyCache:
    name = str(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])
    return _caches.setdefault(name, _KeyCache())


def _fresh_cache() -> _KeyCache:
    cache = _cache()
    if cache.until < time.monotonic():
        rows = _query(KEYS_SQL)
        cache.pairs = [(space, version) for space, version, _writes in rows]
        cache.versions = {space: version for space, version, writes in rows if writes}
        cache.until = time.monotonic() + CACHE_SECONDS
    return cache


def in_use() -> bool:
    """Tell whether this process has loaded a key: only then has it read anything encrypted."""
    return any(cache.keys for cache in _caches.values())


def key_of(space_id: int, version: int) -> DataKey | None:
    """Return the data key, or None when it cannot be opened; a failure is tried again later."""
    cache = _cache()
    pair = (space_id, version)
    key = cache.keys.get(pair)
    if key is None and (pair not in cache.keys or cache.keys_until < time.monotonic()):
        cache.keys_until = time.monotonic() + CACHE_SECONDS
        key = cache.keys[pair] = _load(*pair)
    return key


def _load(space_id: int, version: int) -> DataKey | None:
    by = installation()
    row = _query(KEY_SQL, space_id, version)
    value = unwrap(*row[0], by=by, space_id=space_id, version=version) if row and by else None
    return DataKey(space_id, version, value) if value else None


def _query(statement: str, *params: int) -> list[tuple]:
    """Query past Django's cursor, which counts queries, and never a replica."""
    default = connections[DEFAULT_DB_ALIAS]
    default.ensure_connection()
    with default.wrap_database_errors:
        return default.connection.execute(statement, params).fetchall()


def writing_key(space_id: int | None) -> DataKey | None:
    """Return the key that words of this space are encrypted with; None for plain."""
    version = _fresh_cache().versions.get(space_id) if space_id else None
    if version is None or space_id is None:
        return None
    if (key := key_of(space_id, version)) is None:
        raise KeyMissing(space_id)
    return key


def encrypt(words: str, key: DataKey | None) -> str:
    """Return the words as they are stored: under the key, or in plain without one."""
    if not words or isinstance(words, Stored):
        return words
    if isinstance(words, Unreadable):
        return words.stored
    if key:
        return key.encrypt(words)
    # Words that look like encrypted ones must not be decrypted later.
    return f" {words}" if words.startswith(PREFIX) else words


def decrypt(stored: Any) -> Any:
    """Return the words of a stored value, plain ones as they are; a sentence if that fails."""
    if not isinstance(stored, str) or not stored.startswith(PREFIX):
        return stored
    if not (match := STORED.fullmatch(stored)):
        return _unreadable(NOT_READABLE, stored)
    key = key_of(int(match[1]), int(match[2]))
    if key is None:
        return _unreadable(KEY_MISSING, stored)
    try:
        words = Decrypted(key.decrypt(match[3]))
    except (InvalidTag, ValueError):
        return _unreadable(NOT_READABLE, stored)
    words.key = key
    return words


def _unreadable(why: str, stored: str) -> Unreadable:
    shown = Unreadable(why)
    shown.stored = stored
    return shown


def foreign(words: Any, space_id: int) -> Unreadable | None:
    """Return what is shown for words under the key of another space; None for the row's own."""
    if isinstance(words, Decrypted) and words.key.space_id != space_id:
        return _unreadable(NOT_READABLE, words.key.encrypt(words))
    return None


def stored_forms(words: str) -> list[str]:
    """Return every form in which the words may be stored: plain, and under each key."""
    keys = (key_of(*pair) for pair in _fresh_cache().pairs)
    return [words, *(str(key.encrypt(words)) for key in keys if key)]


def spaces() -> set[int]:
    """Return the spaces that may have encrypted words: also while one is decrypted."""
    return {space for space, _version in _fresh_cache().pairs}


def has_keys(space_id: int) -> bool:
    return space_id in spaces()


def any_keys() -> bool:
    return bool(_fresh_cache().pairs)


def decrypt_lines(words: Any) -> Any:
    """Decrypt what a plain cursor read: words, or a title and a text on lines of their own."""
    if not isinstance(words, str) or PREFIX not in words:
        return words
    lines = [decrypt(line) for line in words.split("\n")]
    unread = next((line for line in lines if isinstance(line, Unreadable)), None)
    return _unreadable(unread, words) if unread else "\n".join(lines).strip()
