"""Sign an archive, so that Keno recognises its own and does not screen it a second time.

An archive with another signature, or none, was made elsewhere or changed; its text is screened
like that of any import.
"""

import json

from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "memory.transfer.archive"


def sign(manifest: dict) -> str:
    signed = {key: value for key, value in manifest.items() if key != "seal"}
    payload = json.dumps(signed, sort_keys=True, ensure_ascii=True)
    return salted_hmac(SALT, payload, algorithm="sha256").hexdigest()


def is_valid(manifest: dict) -> bool:
    return constant_time_compare(str(manifest.get("seal", "")), sign(manifest))
