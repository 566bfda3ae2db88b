"""The icons of the product: 16 by 16, strokes only, drawn with the text's colour."""

PATHS = {
    "check": '<path d="M3 8.5l3.2 3.2L13 5"/>',
    "warning": '<path d="M8 2.5l6 11H2z"/><path d="M8 7v3M8 12v.1"/>',
    "alert": '<circle cx="8" cy="8" r="6"/><path d="M8 4.6v4M8 11v.1"/>',
    "unknown": '<circle cx="8" cy="8" r="6"/><path d="M6.2 6.3a1.9 1.9 0 1 1 2.6 2c-.6.3-.8.6-.8 '
    '1.1M8 11.4v.1"/>',
    "search": '<circle cx="7" cy="7" r="4.5"/><path d="M10.5 10.5L14 14"/>',
    "theme": '<circle cx="8" cy="8" r="5.5"/><path d="M8 2.5a5.5 5.5 0 0 1 0 11z" '
    'fill="currentColor"/>',
    "person": '<circle cx="8" cy="5.5" r="2.5"/><path d="M3 13.5c.5-3 2.4-4.5 5-4.5s4.5 1.5 5 '
    '4.5"/>',
    "home": '<path d="M2.5 7.5L8 3l5.5 4.5M4 6.8V13h8V6.8"/>',
    "requests": '<path d="M4 2.5h5.5L12 5v8.5H4zM6 7.5h4M6 10h4"/>',
    "approvals": '<path d="M2.5 9l2-5.5h7l2 5.5v4h-11zM2.5 9H6l.8 1.5h2.4L10 9h3.5"/>',
    "rentals": '<path d="M3 4.5h10v9H3zM3 7h10M5.5 2.5v3M10.5 2.5v3"/>',
    "cards": '<rect x="2.5" y="4" width="11" height="8" rx="1"/><path d="M5 14v-2M8 14v-2M11 '
    '14v-2"/>',
    "reports": '<path d="M3 13V3M3 13h10M6 10.5V8M9 10.5v-5M12 10.5V7"/>',
    "catalogue": '<path d="M8 4C6.5 3 4.5 3 2.5 3.5v9c2-.5 4-.5 5.5.5 1.5-1 3.5-1 5.5-.5v-9C11.5 3 '
    '9.5 3 8 4zM8 4v9"/>',
    "budgets": '<circle cx="8" cy="8" r="5.5"/><path d="M8 2.5V8l4 3.8"/>',
    "plus": '<path d="M8 3v10M3 8h10"/>',
    "help": '<circle cx="8" cy="8" r="6"/><path d="M6.2 6.3a1.9 1.9 0 1 1 2.6 2c-.6.3-.8.6-.8 '
    '1.1M8 11.4v.1"/>',
    "download": '<path d="M8 2.5v8M5 7.5l3 3 3-3M3 13.5h10"/>',
    "up": '<path d="M8 13V3M4 7l4-4 4 4"/>',
    "down": '<path d="M8 3v10M4 9l4 4 4-4"/>',
    "clock": '<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>',
    "lock": '<rect x="3.5" y="7" width="9" height="6.5" rx="1"/><path d="M5.5 7V5a2.5 2.5 0 0 1 5 '
    '0v2"/>',
    "link": '<path d="M6.5 9.5l3-3M7.5 4.5l1-1a2.8 2.8 0 0 1 4 4l-1 1M8.5 11.5l-1 1a2.8 2.8 0 0 '
    '1-4-4l1-1"/>',
}

TONE_ICONS = {
    "good": "check",
    "watch": "warning",
    "act": "alert",
    "unknown": "unknown",
}
