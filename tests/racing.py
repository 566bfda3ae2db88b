"""Running acts on two connections at once."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection


def together(*acts: Callable[[], Any]) -> list[Any]:
    """The answers (or exceptions) of acts that start at the same moment, each on its own
    connection, in the order given."""
    answers: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts), timeout=10)

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            start.wait()
            answers[place] = act()
        except Exception as fault:
            answers[place] = fault
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "an act still runs after 30 s"
    return answers


def faults(answers: Sequence[Any]) -> list[Exception]:
    return [answer for answer in answers if isinstance(answer, Exception)]
