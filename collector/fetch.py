"""One HTTP request with a bound on time and size. Imported only where it is needed."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from email.message import Message


class FetchError(Exception):
    """The request failed. ``status`` is 0 when there was no answer at all."""

    def __init__(
        self, text: str, status: int = 0, headers: Message | None = None, body=b""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers if headers is not None else Message()
        self.body = body


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the bearer token to wherever it points."""

    def redirect_request(self, *_):
        return None


def fetch(
    url: str,
    *,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 5.0,
    most: int = 16 * 2**20,
    context: ssl.SSLContext | None = None,
) -> tuple[int, Message, bytes]:
    """Status, headers and body of a 2xx answer; raises FetchError otherwise."""
    if not url.startswith(("http://", "https://")):
        raise FetchError(f"{url}: write http:// or https://")
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    try:
        request = urllib.request.Request(url, data=body, headers=headers or {})
        with opener.open(request, timeout=timeout) as answer:
            data = answer.read(most + 1)
            if len(data) > most:
                raise FetchError(f"{url}: answer over {most} bytes")
            return answer.status, answer.headers, data
    except urllib.error.HTTPError as error:
        with error:
            raise FetchError(
                f"{url}: HTTP {error.code}", error.code, error.headers, error.read(4096)
            ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise FetchError(f"{url}: {reason or type(error).__name__}") from None
