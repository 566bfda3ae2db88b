"""Tokens of nodes: computed, not kept.

The server shows a token to a node that it pulls, and checks the one of a node that pushes, so a
one-way digest does not do. A token is the HMAC of node and nonce under the installation's secret:
the database alone gives none away, and changing the nonce rotates it.
"""

import base64
import hashlib
import hmac
import secrets

PREFIX = "cln"


def new_nonce() -> str:
    """What makes a token new; kept in clear."""
    return secrets.token_urlsafe(32)


def token(secret: str, node_id: int, nonce: str) -> str:
    """The token of a node for a nonce: `cln_NODE_...`."""
    mac = hmac.digest(secret.encode(), f"node-token:{node_id}:{nonce}".encode(), hashlib.sha256)
    return f"{PREFIX}_{node_id}_{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def node_of(given: str) -> int | None:
    """The node that a token says it is of; proves nothing."""
    prefix, _, rest = given.partition("_")
    number = rest.partition("_")[0]
    return int(number) if prefix == PREFIX and number.isdecimal() and len(number) < 18 else None


def matches(given: str, secret: str, node_id: int, nonce: str) -> bool:
    """Is it the node's token? Takes the same time for any answer."""
    return hmac.compare_digest(given.encode(), token(secret, node_id, nonce).encode())
