"""Rules of requests and approvals: plain Python."""
