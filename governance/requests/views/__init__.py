"""Pages of requests and approvals."""
