"""Secrets for programs: 256 random bits shown once, kept as a peppered digest."""

from __future__ import annotations

import hashlib
import hmac
import secrets

PREFIX = "clt_"


def new_secret() -> str:
    """A fresh token, 43 characters of base64url after the prefix."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str, pepper: str) -> str:
    """HMAC-SHA256 of the token under the installation's pepper, in hex."""
    return hmac.new(pepper.encode(), secret.encode(), hashlib.sha256).hexdigest()
