"""Words of rules in the reader's language."""

from typing import Any

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from governance.kernel.reasons import Reason
from governance.requests.presenting import TERM_WORDS, sentence, step_title

register = template.Library()


@register.simple_tag
def reason(line: Reason) -> str:
    """A sentence of the matcher."""
    return sentence(line)


@register.simple_tag
def label(text: str) -> Any:
    """A message id of a rule."""
    return gettext(text) if text else ""


@register.simple_tag
def step_name(ability: str) -> str:
    """Who signs at a station."""
    return step_title(ability)


@register.simple_tag
def answer_word(answer: str) -> str:
    """What a signature says."""
    words = {"signed": _("signed"), "asked_back": _("asked back"), "refused": _("refused")}
    return words[answer]


@register.simple_tag
def term_word(term: str) -> str:
    """The name of a term."""
    return gettext(TERM_WORDS.get(term, term))


@register.simple_tag
def because(step: Any) -> str:
    """Names of the rules that ask for the station."""
    return ", ".join(gettext(name) for name in step.because)
