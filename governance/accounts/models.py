"""People, teams, projects, cost centres, roles and tokens."""

from __future__ import annotations

from datetime import date
from typing import ClassVar
from zoneinfo import ZoneInfo

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from governance.accounts.domain import roles
from governance.kernel.policy import SYSTEM
from governance.plumbing import audit, clock


def active_on(day: date) -> Q:
    """Memberships and grants that hold on the day (ends_on is the last day, inclusive)."""
    return Q(starts_on__lte=day) & (Q(ends_on=None) | Q(ends_on__gte=day))


class Organisation(models.Model):
    """The one organisation of this installation."""

    name = models.CharField(max_length=120)
    timezone = models.CharField(max_length=64, default="Asia/Shanghai")
    currency = models.CharField(max_length=3, default="CNY")
    only = models.BooleanField(default=True, unique=True, editable=False)

    class Meta:
        verbose_name = _("organisation")
        constraints = [models.CheckConstraint(condition=Q(only=True), name="one_organisation")]

    def __str__(self) -> str:
        return self.name


class UserManager(BaseUserManager["User"]):
    """Makes people by e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> User:
        """The first person, who may let others in: what `manage.py createsuperuser` makes."""
        zone = ZoneInfo((Organisation.objects.first() or Organisation()).timezone)
        with transaction.atomic():
            user = self.create_user(email, password, **fields)
            today = clock.now().astimezone(zone).date()
            grant = Grant.objects.create(user=user, role="admin", starts_on=today)
            audit.record(
                actor=SYSTEM,
                act="people.add",
                thing=user,
                after={"email": user.email, "name": user.name, "role": grant.role},
            )
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser):
    """A person who signs in. A closed account (`is_active` false) keeps its name in history."""

    email = models.EmailField(_("e-mail"), unique=True)
    name = models.CharField(_("name"), max_length=120)
    language = models.CharField(_("language"), max_length=10, blank=True)
    theme = models.CharField(_("theme"), max_length=10, blank=True)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects = UserManager()

    class Meta:
        verbose_name = _("person")

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def actor_key(self) -> str:
        return f"user:{self.pk}"

    @property
    def display(self) -> str:
        return str(self)

    @property
    def is_staff(self) -> bool:
        return False

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        """What the person may now: by roles across, and by the role in the team when given."""
        if not self.is_active:
            return frozenset()
        return self._global_abilities | self.team_abilities.get(team_id, frozenset())

    @property
    def _global_abilities(self) -> frozenset[str]:
        if "_across" not in self.__dict__:
            names = self.grants.filter(active_on(timezone.localdate())).values_list(
                "role", flat=True
            )
            found = frozenset().union(*(roles.GLOBAL_ROLES[name] for name in names))
            self.__dict__["_across"] = found
        across: frozenset[str] = self.__dict__["_across"]
        return across

    @property
    def team_abilities(self) -> dict[int | None, frozenset[str]]:
        """Abilities by team id, for the teams the person is in today."""
        if "_teams" not in self.__dict__:
            rows = self.memberships.filter(active_on(timezone.localdate()))
            self.__dict__["_teams"] = {m.team_id: roles.TEAM_ROLES[m.role] for m in rows}
        teams: dict[int | None, frozenset[str]] = self.__dict__["_teams"]
        return teams


class Team(models.Model):
    """People who share budgets; days and months of its reports are cut in its time zone."""

    slug = models.SlugField(unique=True)
    name = models.CharField(_("name"), max_length=120)
    timezone = models.CharField(_("time zone"), max_length=64, default="Asia/Shanghai")

    class Meta:
        verbose_name = _("team")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class CostCentre(models.Model):
    """Where finance books a project's cost."""

    code = models.CharField(_("code"), max_length=40, unique=True)
    name = models.CharField(_("name"), max_length=120)

    class Meta:
        verbose_name = _("cost centre")
        ordering = ["code"]

    def __str__(self) -> str:
        return f"{self.code} {self.name}"


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, viewer: object) -> ProjectQuerySet:
        """All projects for those who see all, else those of the viewer's teams."""
        abilities = getattr(viewer, "abilities", None)
        if abilities is None:
            return self.none()
        if "see.all" in abilities():
            return self
        return self.filter(team_id__in=list(viewer.team_abilities))  # type: ignore[attr-defined]


class Project(models.Model):
    """What compute is asked for; belongs to one team and one cost centre."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="projects", verbose_name=_("team"))
    cost_centre = models.ForeignKey(
        CostCentre,
        models.PROTECT,
        null=True,
        related_name="projects",
        verbose_name=_("cost centre"),
    )
    slug = models.SlugField(unique=True)
    name = models.CharField(_("name"), max_length=120)
    closed_at = models.DateTimeField(null=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        verbose_name = _("project")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a team from one day to another (last day inclusive)."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    role = models.CharField(
        max_length=10, choices=[(r, _(roles.ROLE_NAMES[r])) for r in roles.TEAM_ROLES]
    )
    starts_on = models.DateField()
    ends_on = models.DateField(null=True)
    source = models.CharField(max_length=10, blank=True)
    """oidc where the identity provider's claim made it; it may end it, too."""

    class Meta:
        verbose_name = _("membership")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "team", "starts_on"], name="one_membership_a_day"
            ),
            models.CheckConstraint(
                condition=Q(role__in=list(roles.TEAM_ROLES)), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.team}"


class Grant(models.Model):
    """A role across all teams from one day to another (last day inclusive)."""

    user = models.ForeignKey(User, models.CASCADE, related_name="grants")
    role = models.CharField(
        max_length=10, choices=[(r, _(roles.ROLE_NAMES[r])) for r in roles.GLOBAL_ROLES]
    )
    starts_on = models.DateField()
    ends_on = models.DateField(null=True)

    class Meta:
        verbose_name = _("role")
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "starts_on"], name="one_grant_a_day"),
            models.CheckConstraint(
                condition=Q(role__in=list(roles.GLOBAL_ROLES)), name="grant_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role}"


class ServiceToken(models.Model):
    """A person's key for programs: a digest is kept, scopes narrow the person's rights."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("service token")

    def __str__(self) -> str:
        return self.name
