"""A demonstration organisation written by us; everything it makes is marked simulated."""
