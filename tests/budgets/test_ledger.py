"""The ledger: balanced at commit, complete afterwards, never changed, corrected by its mirror."""

from datetime import date
from decimal import Decimal as D

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.budgets import queries, services
from governance.budgets.models import LedgerAccount, Posting, Transaction
from governance.kernel.errors import Denied, Invalid, Refused
from governance.kernel.money import Money, split
from governance.kernel.policy import SYSTEM
from tests.budgets.make import NOW, yuan

COST = services.AccountRef("expense:x", "expense", "cost")
OWED = services.AccountRef("payable:x", "liability", "owed")
BANK = services.AccountRef("asset:bank", "asset", "bank")


def draft(key, *lines):
    return services.Draft(key, date(2026, 11, 10), "test", tuple(lines))


def post(*drafts):
    return services.post_many(actor=SYSTEM, drafts=drafts, now=NOW)


def commit():
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.django_db
def test_a_transaction_balances_per_currency():
    post(draft("a", (COST, yuan("100")), (OWED, yuan("-100"))))
    dollars = Money(D("-100"), "USD")
    for lines in ([(COST, yuan("100")), (OWED, dollars)], [(COST, yuan("1"))], []):
        with pytest.raises(Invalid):
            post(draft("b", *lines))
    commit()
    assert list(Transaction.objects.values_list("key", "lines")) == [("a", 2)]


@pytest.mark.django_db
def test_the_database_refuses_what_the_code_would_not_do():
    post(draft("a", (COST, yuan("100")), (OWED, yuan("-100"))))
    commit()
    known, account = Transaction.objects.get(), LedgerAccount.objects.first()

    def unbalanced():
        made = Transaction.objects.create(
            key="b", booked_on=NOW.date(), lines=1, actor_key="x", created_at=NOW
        )
        Posting.objects.create(transaction=made, account=account, amount=1, currency="CNY")
        commit()

    def without_postings():
        Transaction.objects.create(
            key="b", booked_on=NOW.date(), lines=2, actor_key="x", created_at=NOW
        )
        commit()

    def added_later():
        for amount in (5, -5):
            Posting.objects.create(
                transaction=known, account=account, amount=amount, currency="CNY"
            )

    for act, words in (
        (unbalanced, "does not balance"),
        (without_postings, "0 of 2 postings"),
        (added_later, "no more postings"),
    ):
        with pytest.raises(DatabaseError, match=words), transaction.atomic():
            act()
    for table in ("budgets_posting", "budgets_transaction"):
        for sql in (
            f"UPDATE {table} SET id = id",
            f"DELETE FROM {table}",
            f"TRUNCATE {table} CASCADE",
        ):
            with (
                connection.cursor() as cursor,
                pytest.raises(DatabaseError, match="append-only"),
                transaction.atomic(),
            ):
                cursor.execute(sql)


@pytest.mark.django_db
def test_the_same_key_posts_once_and_other_amounts_are_refused():
    lines = ((COST, yuan("100")), (OWED, yuan("-100")))
    assert post(draft("a", *lines)) == post(draft("a", *lines))
    with pytest.raises(Invalid):
        post(draft("a", (COST, yuan("101")), (OWED, yuan("-101"))))
    assert Posting.objects.count() == 2


def test_a_reversal_mirrors_the_original_split(house):
    parts = split(yuan("100.00"), [1, 1, 1], ["a", "b", "c"])
    lines = [(services.AccountRef(f"expense:{k}", "expense", k), part) for k, part in parts.items()]
    ids = post(draft("a", *lines, (OWED, yuan("-100.00"))))
    with pytest.raises(Denied):
        services.reverse_transaction(actor=house.lead, transaction_id=ids["a"], reason="x", now=NOW)
    pk = services.reverse_transaction(
        actor=house.finance, transaction_id=ids["a"], reason="wrong project", now=NOW
    )
    amounts = sorted(Posting.objects.filter(transaction=pk).values_list("amount", flat=True))
    assert amounts == [D("-33.34"), D("-33.33"), D("-33.33"), D("100")]
    assert Transaction.objects.get(pk=pk).reverses_id == ids["a"]
    with pytest.raises(Refused):
        services.reverse_transaction(
            actor=house.finance, transaction_id=ids["a"], reason="again", now=NOW
        )
    commit()
    assert queries.faults() == []


def test_totals_are_per_currency_first(house):
    post(
        draft("a", (COST, Money(D(10), "USD")), (OWED, Money(D(-10), "USD"))),
        draft("b", (COST, Money(D(10), "CHF")), (OWED, Money(D(-10), "CHF"))),
    )
    rows = queries.accounts_with_balances(house.finance)
    cost = {row["currency"]: row["balance"] for row in rows if row["code"] == "expense:x"}
    assert cost == {"USD": 10, "CHF": 10}
    for base, rate in (("USD", "7.10"), ("CHF", "8.90")):
        services.set_rate(
            actor=house.finance, base=base, quote="CNY", day=date(2026, 11, 10),
            rate=D(rate), source="bank",
        )  # fmt: skip
    total = sum(
        queries.fx_rate(code, "CNY", date(2026, 11, 10)).convert(Money(amount, code), "CNY").amount
        for code, amount in cost.items()
    )
    assert total == D("160.00")
    with pytest.raises(Denied):
        queries.accounts_with_balances(house.member)


amounts = st.integers(-(10**6), 10**6).filter(bool).map(lambda n: D(n).scaleb(-2))


@pytest.mark.django_db
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(amounts, min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_any_run_of_postings_and_reversals_sums_to_zero(rows, data):
    with transaction.atomic():
        drafts = []
        for number, parts in enumerate(rows):
            lines = [(COST, Money(part, "CNY")) for part in parts]
            drafts.append(draft(f"t{number}", *lines, (BANK, Money(-sum(parts), "CNY"))))
        drafts = [d for d in drafts if sum(1 for _, m in d.lines if m) > 1]
        ids = post(*drafts)
        for pk in data.draw(st.sets(st.sampled_from(sorted(ids.values())))) if ids else ():
            services.reverse_transaction(actor=SYSTEM, transaction_id=pk, reason="mistake", now=NOW)
        commit()
        assert sum(Posting.objects.values_list("amount", flat=True)) == 0
        assert queries.faults() == []
        transaction.set_rollback(True)
