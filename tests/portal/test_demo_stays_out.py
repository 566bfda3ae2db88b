"""The demonstration never mixes with people who work here."""

from pathlib import Path

import pytest

from governance.plumbing import clock
from governance.portal.demo import load
from tests import make


def test_stays_out_where_people_work(db: None, tmp_path: Path) -> None:
    make.house()
    with pytest.raises(load.Taken):
        load.load(folder=tmp_path, web_port=18000, now=clock.now(), say=lambda line: None)
