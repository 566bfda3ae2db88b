"""Acts of the reports room: the nightly judgement, answers and decisions, saved views."""

from governance.reports import policies
from governance.reports.services.deciding import (
    accept,
    answer,
    dismiss,
    measure_realised,
    snooze,
)
from governance.reports.services.invoicing import import_invoice, settle
from governance.reports.services.judging import judge, judge_missed, replay
from governance.reports.services.mailing import send_due
from governance.reports.services.views import forget_view, save_view

__all__ = [
    "accept",
    "answer",
    "dismiss",
    "forget_view",
    "import_invoice",
    "judge",
    "judge_missed",
    "measure_realised",
    "policies",
    "replay",
    "save_view",
    "send_due",
    "settle",
    "snooze",
]
