"""The help page's key figures, from the registry that reports compute with."""

from django.http import QueryDict
from django.utils.translation import gettext as _

from governance.reports.domain.kpis import KPIS
from governance.ui.tables import Column, Table


def figures(params: QueryDict) -> Table:
    """Every key figure with its formula, unit and coverage rule, in the reader's language."""
    rows = [
        {
            "name": _(entry.name),
            "formula": _(entry.formula),
            "unit": _(entry.unit),
            "coverage": _(entry.coverage),
        }
        for entry in KPIS.values()
    ]
    return Table(
        columns=[
            Column("name", _("Figure"), stick=True),
            Column("formula", _("Formula"), sortable=False),
            Column("unit", _("Unit")),
            Column("coverage", _("Counts"), sortable=False),
        ],
        rows=rows,
        params=params,
        caption=_("Key figures"),
        page_size=100,
    )
