"""Acts on people, teams, projects and tokens."""

from governance.accounts.services.acting import acting

__all__ = ["acting"]
