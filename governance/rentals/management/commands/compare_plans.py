"""`manage.py compare_plans FILE.json`: hourly, monthly and annual plans at a real use."""

from typing import Any

from governance.rentals.commands import RulesCommand
from governance.rentals.domain.compare import compare_plans


class Command(RulesCommand):
    help = "Compares plans at a use in hours per month, without a database."

    def answer(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        return compare_plans(data)

    def show(self, data: Any, answer: dict[str, Any]) -> None:
        formulas = answer["formulas"]
        for kind, cost in answer["costs"].items():
            self.stdout.write(f"{kind:<20} {cost:>14} {data['currency']}   {formulas[kind]}")
        points = answer["break_even_hours_per_month"].items()
        for name, hours in points:
            if hours is not None:
                self.stdout.write(f"{name:<20} {hours:>14} h a month   {formulas[name]}")
        for name, months in answer["break_even_months"].items():
            if months is not None:
                self.stdout.write(f"{name:<20} {months:>14} months   {formulas[name]}")
        self.stdout.write(f"advice: {answer['advice']}")
