"""What INSTANCE_SECRET protects: encryption at rest, and hashes that nobody can make without it."""

import base64
import hmac
from functools import cache
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """Stored under an INSTANCE_SECRET that is no longer configured."""


def _secrets() -> list[str]:
    return [s for s in (settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS) if s]


@cache
def _derive(secret: str, purpose: str) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=f"standmeet {purpose}".encode()).derive(secret.encode())


def _fernet() -> MultiFernet:
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_derive(s, "encryption"))) for s in _secrets()])


def encrypt(text: str) -> str:
    return _fernet().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    try:
        return _fernet().decrypt(token.encode()).decode()
    except InvalidToken:
        raise Unreadable(
            "This was stored under another INSTANCE_SECRET: set INSTANCE_SECRET_PREVIOUS to that one."
        ) from None


def hashes(purpose: str, text: str) -> list[str]:
    """The keyed hash under the current secret, then under the previous one. Store the first, look for any."""
    return [hmac.new(_derive(s, purpose), text.encode(), sha256).hexdigest() for s in _secrets()]
