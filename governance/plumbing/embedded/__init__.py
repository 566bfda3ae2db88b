"""PostgreSQL and Valkey brought along in wheels: real servers, private to the user who starts them.

Plain Python, usable before Django is set up. `ensure_servers(data_dir)` is what commands use;
`Postgres` and `Valkey` are for those who want one server of their own (the tests).
"""

from governance.plumbing.embedded.postgres import Postgres
from governance.plumbing.embedded.process import ServerError
from governance.plumbing.embedded.servers import ensure_servers
from governance.plumbing.embedded.valkey import Valkey

__all__ = ["Postgres", "ServerError", "Valkey", "ensure_servers"]
