"""Rules of rented compute in plain Python: terms, charge lines, taxes, plans side by side."""
