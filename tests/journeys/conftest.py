from collections.abc import Iterator

import pytest

from tests.journeys.living import Living, living


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    """A living system with the demonstration in it."""
    with living(tmp_path_factory.mktemp("demonstration") / "data", demo=True) as system:
        yield system
