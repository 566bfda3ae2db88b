from __future__ import annotations

from pathlib import Path

import pytest

from governance.plumbing.catalogues import Catalogues


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    room = tmp_path / "governance" / "shop"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text("")
    (room / "rules.py").write_text('N_("Too dear")\nngettext_lazy("%(n)s card", "%(n)s cards")\n')
    pages = tmp_path / "templates" / "shop"
    pages.mkdir(parents=True)
    (pages / "list.html").write_text(
        "<h1>{% translate 'Offers' %}</h1>\n  <p>\n"
        "{% blocktranslate with n=x %}{{ n }} left{% endblocktranslate %}</p>\n"
    )
    return tmp_path


def test_texts_of_code_and_templates_are_found(tree: Path) -> None:
    found = {m.id for m in Catalogues(tree).extract("shop") if m.id}
    assert found == {"Too dear", ("%(n)s card", "%(n)s cards"), "Offers", "%(n)s left"}


def test_check_names_what_is_missing_until_it_is_translated(tree: Path) -> None:
    catalogues = Catalogues(tree)
    assert "shop: no translation of “Offers”" in catalogues.faults()
    catalogues.update("shop")
    path = catalogues.path("shop")
    text = path.read_text()
    for english, chinese in [("Offers", "报价"), ("Too dear", "太贵"), ("%(n)s left", "剩 %(n)s")]:
        text = text.replace(
            f'msgid "{english}"\nmsgstr ""', f'msgid "{english}"\nmsgstr "{chinese}"'
        )
    text = text.replace('msgstr[0] ""', 'msgstr[0] "%(n)s 张卡"')
    path.write_text(text)
    assert catalogues.faults() == []
    assert catalogues.compile() == 1
    assert path.with_suffix(".mo").exists()


def test_broken_placeholder_is_a_fault(tree: Path) -> None:
    catalogues = Catalogues(tree)
    catalogues.update("shop")
    path = catalogues.path("shop")
    path.write_text(
        path.read_text().replace('msgid "%(n)s left"\nmsgstr ""', 'msgid "%(n)s left"\nmsgstr "剩"')
    )
    assert any("%(n)s left" in fault for fault in catalogues.faults())
