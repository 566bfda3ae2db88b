from __future__ import annotations

import pytest

from governance.kernel.errors import Invalid, Refused
from governance.kernel.reasons import Reason
from governance.plumbing.idempotency import fingerprint, once

pytestmark = pytest.mark.django_db


def _post(body: bytes, calls: list[int], key: str = "k") -> tuple[int, object]:
    def act() -> tuple[int, object]:
        calls.append(1)
        return 201, {"n": len(calls)}

    return once(actor_key="user:1", key=key, fingerprint=fingerprint(body, "/x"), act=act)


def test_second_post_gets_the_first_answer_and_acts_once() -> None:
    calls: list[int] = []
    assert _post(b"a", calls) == (201, {"n": 1})
    assert _post(b"a", calls) == (201, {"n": 1})
    assert calls == [1]


def test_same_key_with_another_body_is_an_error() -> None:
    calls: list[int] = []
    _post(b"a", calls)
    with pytest.raises(Invalid, match="another request"):
        _post(b"b", calls)
    assert calls == [1]


def test_refused_act_keeps_nothing_and_may_be_tried_again() -> None:
    def refuse() -> tuple[int, object]:
        raise Refused(Reason("no", "no"))

    with pytest.raises(Refused):
        once(actor_key="user:1", key="k", fingerprint=fingerprint(b"a", "/x"), act=refuse)
    assert _post(b"a", []) == (201, {"n": 1})
