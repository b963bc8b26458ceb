"""How Keno recognises an archive of its own: what a person released once is not asked again.

An archive with another seal, or none, was made elsewhere or changed; its words are screened like
those of any import.
"""

import json

from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "memory.transfer.archive"


def of(manifest: dict) -> str:
    said = {key: value for key, value in manifest.items() if key != "seal"}
    words = json.dumps(said, sort_keys=True, ensure_ascii=True)
    return salted_hmac(SALT, words, algorithm="sha256").hexdigest()


def holds(manifest: dict) -> bool:
    return constant_time_compare(str(manifest.get("seal", "")), of(manifest))
