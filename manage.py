#!/usr/bin/env python
"""Commands of the platform; embedded servers are started when a command needs them."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
