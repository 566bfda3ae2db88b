"""Who plays in the demonstration, in which teams and projects."""

from dataclasses import dataclass

PASSWORD = "ledger-demo-2026"  # noqa: S105 - printed on the sign-in page of demonstrations only


@dataclass(frozen=True)
class Person:
    email: str
    name: str
    across: str = ""
    teams: tuple[tuple[str, str], ...] = ()

    @property
    def is_shown(self) -> bool:
        """One account per role is offered on the sign-in page."""
        return self.email.split("@", maxsplit=1)[0] in SHOWN


@dataclass(frozen=True)
class Project:
    slug: str
    team: str
    name: str
    cost_centre: str


SHOWN = ("researcher", "lead", "approver", "finance", "operator", "auditor", "admin")
DOMAIN = "demo.example"
TEAMS = {"llm": "LLM", "vision": "Vision", "speech": "Speech"}
COST_CENTRES = {"CC-410": "Language products", "CC-420": "Perception", "CC-430": "Voice"}
PROJECTS = (
    Project("pretraining", "llm", "Pretraining", "CC-410"),
    Project("contract-review", "llm", "Contract review", "CC-410"),
    Project("detection", "vision", "Detection", "CC-420"),
    Project("captions", "vision", "Video captions", "CC-420"),
    Project("recognition", "speech", "Recognition", "CC-430"),
    Project("synthesis", "speech", "Synthesis serving", "CC-430"),
)
PEOPLE = (
    Person(f"researcher@{DOMAIN}", "Lin Yue", teams=(("llm", "member"),)),
    Person(f"lead@{DOMAIN}", "Chen Hao", teams=(("llm", "lead"),)),
    Person(f"vision@{DOMAIN}", "Maya Patel", teams=(("vision", "lead"),)),
    Person(f"speech@{DOMAIN}", "Jonas Weber", teams=(("speech", "lead"),)),
    Person(f"wu@{DOMAIN}", "Wu Tong", teams=(("vision", "member"), ("speech", "member"))),
    Person(f"approver@{DOMAIN}", "Zhao Min", across="approver"),
    Person(f"finance@{DOMAIN}", "Sofia Rossi", across="finance"),
    Person(f"operator@{DOMAIN}", "Tom Becker", across="operator"),
    Person(f"auditor@{DOMAIN}", "Ada Okafor", across="auditor"),
    Person(f"admin@{DOMAIN}", "Li Na", across="admin"),
)
