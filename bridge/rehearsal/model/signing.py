"""The signature of a thinking block: it shows that the text came back as it went out."""

import base64
import hashlib
import hmac

# Fixed, so that a transcript of one rehearsal still resumes in the next; nothing here is secret.
_KEY = b"scripted model, thinking blocks"


def sign(thinking: str) -> str:
    return base64.b64encode(hmac.digest(_KEY, thinking.encode(), hashlib.sha256)).decode()


def is_signed(thinking: str, signature: str) -> bool:
    return hmac.compare_digest(sign(thinking), signature)
