"""How form fields are drawn: which frame a widget needs, how its errors are tied to it."""

from typing import Any

from django import forms


def look_of(widget: forms.Widget) -> str:
    if isinstance(widget, forms.CheckboxSelectMultiple | forms.RadioSelect):
        return "ticks"
    if isinstance(widget, forms.CheckboxInput):
        return "tick"
    if isinstance(widget, forms.Textarea):
        return "area"
    return "framed"


def field_parts(
    bound: forms.BoundField, *, unit: Any, span: str, look: str, hint: Any, label: Any
) -> dict[str, Any]:
    """The pieces of ui/field.html, with hint and errors named by aria-describedby."""
    widget = bound.field.widget
    name = bound.auto_id or bound.html_name
    hint = bound.help_text if hint is None else hint
    described = [f"{name}_hint"] if hint else []
    if bound.errors:
        described.append(f"{name}_error")
    attrs: dict[str, Any] = {}
    if described:
        attrs["aria-describedby"] = " ".join(described)
    if bound.errors:
        attrs["aria-invalid"] = "true"
    if isinstance(widget, forms.NumberInput) or isinstance(
        bound.field, forms.IntegerField | forms.DecimalField
    ):
        attrs["class"] = f"{widget.attrs.get('class', '')} n".strip()
    shape = look or look_of(widget)
    return {
        "field": bound,
        "control": bound.as_widget(attrs=attrs),
        "name": name,
        "label": label or bound.label,
        "hint": hint,
        "unit": unit,
        "css": " ".join(
            filter(None, ["field", span.replace(",", " "), "has-error" if bound.errors else ""])
        ),
        "shape": shape,
        "grouped": shape in ("seg", "ticks"),
        "optional": not bound.field.required and shape not in ("tick",),
    }
