"""What people of the demonstration ask for, and how far each request has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from governance.portal.demo.people import Company
from governance.rentals import services as rentals
from governance.requests import services as requests


@dataclass(frozen=True)
class Wish:
    """A request: `asked` days ago for something needed `hours` later; `fate` is its last act."""

    who: str
    project: str
    purpose: str
    asked: float
    hours: float
    spec: Mapping[str, Any]
    why: str
    fate: str
    words: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)


DATA = {"data_place": "cn-east-2, object storage of the team"}
SERVING = {
    "egress": "exclusive, 100 Mbit/s",
    "line": "cn-south, mobile users",
    "filing": "filed with the voice product",
    "interconnect": "one node",
}
WISHES = (
    Wish(
        "researcher", "contract-review", "fine_tuning", 41, 120,
        {"preset": "llama-2-70b", "method": "lora", "samples": 41000, "epochs": 3,
         "seq_len": 2048, "global_batch": 64, "lora_rank": 64},
        "First adapter for clause extraction; decides whether the pilot goes on.",
        "completed", "Enough room in the November budget.", DATA,
    ),
    Wish(
        "vision", "detection", "fine_tuning", 33, 96,
        {"params_b": 1.2, "method": "full", "samples": 9000000, "epochs": 4, "seq_len": 576,
         "global_batch": 256},
        "New detector head for the night scenes.", "completed", "", DATA,
    ),
    Wish(
        "wu", "recognition", "pretraining", 20, 240,
        {"params_b": 0.6, "method": "pretrain", "tokens": 2.5e10, "seq_len": 1500,
         "global_batch": 512},
        "Streaming encoder, second try with longer context.", "refused",
        "The first try has not been evaluated yet; ask again with its figures.", DATA,
    ),
    Wish(
        "researcher", "contract-review", "fine_tuning", 6, 200,
        {"preset": "qwen2.5-14b", "method": "full", "tokens": 1.4e9, "seq_len": 4096,
         "global_batch": 32},
        "Smaller model as a fallback for the pilot.", "approved", "", DATA,
    ),
    Wish(
        "researcher", "pretraining", "evaluation", 3, 150,
        {"preset": "qwen2.5-32b", "method": "batch_inference", "samples": 2500000,
         "prompt_tokens": 1800, "output_tokens": 300},
        "Score the December candidates on the contract set.", "asked_back",
        "Which candidates, and could half of the set decide it?", DATA,
    ),
    Wish(
        "researcher", "contract-review", "fine_tuning", 0.9, 110,
        {"preset": "llama-3-70b", "method": "lora", "samples": 52300, "epochs": 3,
         "seq_len": 2048, "global_batch": 64, "lora_rank": 128},
        "Second adapter for clause extraction; picks the model for the December pilot.",
        "submitted", "", DATA,
    ),
    Wish(
        "vision", "captions", "fine_tuning", 2.2, 240,
        {"params_b": 7, "method": "qlora", "tokens": 4.2e9, "seq_len": 2048, "global_batch": 64},
        "Captions in Mandarin; the customer's data arrived.", "submitted", "", DATA,
    ),
    Wish(
        "speech", "synthesis", "serving", 0.4, 720,
        {"preset": "qwen2.5-3b", "method": "serving", "concurrency": 60, "prompt_tokens": 300,
         "output_tokens": 500, "service_hours": 720},
        "Voice reading for the winter campaign, one month.", "submitted", "", SERVING,
    ),
    Wish(
        "researcher", "pretraining", "pretraining", 0.2, 400,
        {"preset": "qwen2.5-1.5b", "method": "pretrain", "tokens": 2.0e10, "seq_len": 4096,
         "global_batch": 256},
        "Ablation of the new data mix.", "draft", "", DATA,
    ),
)  # fmt: skip


def ask(company: Company, now: datetime) -> dict[str, int]:
    """Take each wish to its fate through the rooms' services; how many ended where."""
    fates: dict[str, int] = {}
    for wish in WISHES:
        pursue(company, wish, now)
        fates[wish.fate] = fates.get(wish.fate, 0) + 1
    return fates


def pursue(company: Company, wish: Wish, now: datetime) -> None:
    requester = company.person(wish.who)
    asked = now - timedelta(days=wish.asked)
    request = requests.create_draft(
        actor=requester,
        project_id=company.projects[wish.project],
        ask=requests.read_ask(
            wish.spec, wish.purpose, asked + timedelta(hours=2), asked + timedelta(hours=wish.hours)
        ),
        reason=wish.why,
        answers=wish.answers,
        now=asked,
    )
    if wish.fate == "draft":
        return
    requests.submit(actor=requester, request_id=request.pk, now=asked + timedelta(minutes=20))
    if wish.fate != "submitted":
        decide(company, wish, request.pk, asked)


def decide(company: Company, wish: Wish, request_id: int, asked: datetime) -> None:
    approver, answered = company.person("approver"), asked + timedelta(hours=1, minutes=30)
    if wish.fate == "refused":
        requests.refuse(actor=approver, request_id=request_id, text=wish.words, now=answered)
        return
    if wish.fate == "asked_back":
        requests.ask_back(actor=approver, request_id=request_id, text=wish.words, now=answered)
        return
    decided = requests.approve(actor=approver, request_id=request_id, text=wish.words, now=answered)
    if decided.state == "submitted":
        decided = requests.approve(
            actor=company.person("finance"),
            request_id=request_id,
            now=answered + timedelta(minutes=15),
        )
    if wish.fate == "completed":
        buy(company, decided, asked)


def buy(company: Company, request: Any, asked: datetime) -> None:
    """Rent what was approved for as long as it is needed."""
    starts = asked + timedelta(hours=2)
    hours = float((request.package or {}).get("hours") or 24)
    rentals.open_rental(
        actor=company.person("operator"),
        request_id=request.pk,
        plan_kind="hourly",
        starts_at=starts,
        ends_at=starts + timedelta(hours=round(hours) + 1),
        now=asked + timedelta(hours=1, minutes=55),
    )
