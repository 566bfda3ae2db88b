"""allauth's hooks: nobody signs up by themselves, people are made by an administrator or SSO."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
