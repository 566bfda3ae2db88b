"""Pages of people, teams, tokens and the audit trail."""
