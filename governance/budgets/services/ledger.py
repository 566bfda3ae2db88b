"""The ledger: balanced transactions, posted once per key, corrected only by reversal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db import connection, transaction

from governance.budgets.models import LedgerAccount, Posting, Transaction
from governance.kernel.errors import Invalid, Missing, Refused
from governance.kernel.money import Money
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks
from governance.plumbing.copy import copy_csv, csv_chunks


@dataclass(frozen=True, slots=True)
class AccountRef:
    """A ledger account by its code; made on first use."""

    code: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A transaction to post: lines are (account, amount), debit plus and credit minus."""

    key: str
    booked_on: date
    memo: str
    lines: tuple[tuple[AccountRef, Money], ...]


def post_transaction(*, actor: Actor, draft: Draft, now: datetime) -> int:
    """Post one transaction by hand or for another act; see `post_many`."""
    require(actor, "ledger.post")
    with transaction.atomic():
        (pk,) = post_many(actor=actor, drafts=[draft], now=now).values()
        audit.record(
            actor=actor, act="ledger.post", thing=("budgets.transaction", pk),
            after={"key": draft.key, "memo": draft.memo},
        )  # fmt: skip
        return pk


def post_many(*, actor: Actor, drafts: Sequence[Draft], now: datetime) -> dict[str, int]:
    """Post transactions; returns their ids by key. Part of an act that has checked the right.

    Each must balance per currency (Invalid). A key that is known already is left as it is if its
    postings are the same, else Invalid: nothing is ever overwritten.
    """
    for draft in drafts:
        _require_balance(draft)
    with transaction.atomic():
        accounts = _accounts({ref.code: ref for draft in drafts for ref, _ in draft.lines})
        known = dict(
            Transaction.objects.filter(key__in=[draft.key for draft in drafts]).values_list(
                "key", "pk"
            )
        )
        fresh = [draft for draft in drafts if draft.key not in known]
        ids = dict(zip((draft.key for draft in fresh), _new_ids(len(fresh)), strict=True))
        with connection.cursor() as cursor:
            copy_csv(
                cursor,
                Transaction._meta.db_table,
                ("id", "key", "booked_on", "memo", "lines", "actor_key", "created_at"),
                csv_chunks(
                    (
                        ids[draft.key],
                        draft.key,
                        draft.booked_on,
                        draft.memo,
                        sum(1 for _, money in draft.lines if money),
                        actor.actor_key,
                        now,
                    )
                    for draft in fresh
                ),
            )
            copy_csv(
                cursor,
                Posting._meta.db_table,
                ("transaction_id", "account_id", "amount", "currency"),
                csv_chunks(
                    (ids[draft.key], accounts[ref.code], money.amount, money.currency)
                    for draft in fresh
                    for ref, money in draft.lines
                    if money
                ),
            )
        for draft in drafts:
            if draft.key in known:
                _require_same(draft, known[draft.key], accounts)
        return {**known, **ids}


def reverse_transaction(*, actor: Actor, transaction_id: int, reason: str, now: datetime) -> int:
    """Post the mirror image of a transaction's postings; each can be reversed once."""
    require(actor, "ledger.post")
    if not reason.strip():
        raise Invalid(Reason("reason_missing", N_("A reason is needed.")), "reason")
    with transaction.atomic():
        (original,) = locks.lock(Transaction.objects.all(), [transaction_id])
        if Transaction.objects.filter(reverses=original).exists():
            raise Refused(Reason("reversed", N_("This transaction is already reversed.")))
        postings = list(original.postings.order_by("pk"))
        if not postings:
            raise Missing()
        mirror = Transaction.objects.create(
            key=f"reverse:{original.key}"[:160],
            booked_on=now.date(),
            memo=reason[:300],
            lines=len(postings),
            reverses=original,
            actor_key=actor.actor_key,
            created_at=now,
        )
        Posting.objects.bulk_create(
            [
                Posting(
                    transaction=mirror,
                    account_id=posting.account_id,
                    amount=-posting.amount,
                    currency=posting.currency,
                )
                for posting in postings
            ]
        )
        audit.record(
            actor=actor, act="ledger.reverse", thing=mirror,
            before={"key": original.key}, reason=reason,
        )  # fmt: skip
        return mirror.pk


def _new_ids(count: int) -> list[int]:
    table = Transaction._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [table, count],
        )
        return [pk for (pk,) in cursor.fetchall()]


def _accounts(wanted: Mapping[str, AccountRef]) -> dict[str, int]:
    found = dict(LedgerAccount.objects.filter(code__in=wanted).values_list("code", "pk"))
    if len(found) < len(wanted):
        LedgerAccount.objects.bulk_create(
            [
                LedgerAccount(code=ref.code, kind=ref.kind, name=ref.name)
                for code, ref in sorted(wanted.items())
                if code not in found
            ],
            ignore_conflicts=True,
        )
        found = dict(LedgerAccount.objects.filter(code__in=wanted).values_list("code", "pk"))
    return found


def _require_balance(draft: Draft) -> None:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for _, money in draft.lines:
        sums[money.currency] += money.amount
    open_sums = {currency: total for currency, total in sums.items() if total}
    if open_sums or not draft.lines:
        raise Invalid(
            Reason(
                "unbalanced",
                N_("The transaction %(key)s does not balance: %(sums)s."),
                {
                    "key": draft.key,
                    "sums": ", ".join(f"{v} {c}" for c, v in open_sums.items()) or "-",
                },
            )
        )


def _require_same(draft: Draft, pk: int, accounts: dict[str, int]) -> None:
    def plain(pairs: Iterable[tuple[int, Decimal, str]]) -> list[tuple[int, Decimal, str]]:
        return sorted(
            (account, amount.normalize(), currency) for account, amount, currency in pairs
        )

    stored = Posting.objects.filter(transaction_id=pk).values_list(
        "account_id", "amount", "currency"
    )
    asked = (
        (accounts[ref.code], money.amount, money.currency) for ref, money in draft.lines if money
    )
    if plain(stored) != plain(asked):
        raise Invalid(
            Reason(
                "ledger_key_reused",
                N_("The ledger key %(key)s was used for other amounts."),
                {"key": draft.key},
            )
        )
