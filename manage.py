#!/usr/bin/env python
"""Commands of the platform; embedded servers are started when a command needs them."""

import sys

from governance.config.entry import main

if __name__ == "__main__":
    main(sys.argv)
