"""A column as a fence: a report is stored only by the newest holder of a lock, whatever older ones still try.

    lockctl elect reports -- python docs/examples/sqlite/reports.py reports.db "all is well"

The column is in a table of one row for each lock. The row is compared and moved forward in the transaction that writes:
that is what makes it a fence. A column in each row written would not do alone, since it doesn't stop an older holder
from inserting a row, or from changing one that the newer has not come to yet.
"""

from __future__ import annotations

import os
import sqlite3
import sys

SCHEMA = """
CREATE TABLE IF NOT EXISTS fences (name TEXT PRIMARY KEY, cluster TEXT NOT NULL, token INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reports (id INTEGER PRIMARY KEY, body TEXT NOT NULL, fencing_token INTEGER NOT NULL);
"""

ADMIT = """
INSERT INTO fences (name, cluster, token) VALUES (:name, :cluster, :token)
ON CONFLICT (name) DO UPDATE SET token = excluded.token
WHERE cluster = excluded.cluster AND token <= excluded.token
"""
"""The same in PostgreSQL; in MySQL an UPDATE with this WHERE, on a row made beforehand. Look at the number of rows."""


class Refused(Exception):
    """Another holds the lock, or the token is of another etcd cluster: nothing was written."""


def open_database(path: str) -> sqlite3.Connection:
    """The database at `path`, made if it isn't there."""
    database = sqlite3.connect(path, timeout=10.0, isolation_level=None)
    database.executescript(SCHEMA)
    return database


def admit(database: sqlite3.Connection, name: str, *, token: int, cluster: str) -> None:
    """Within a transaction: let this holder write, and nobody older from then on.

    Raises:
        Refused: A newer one was let through before, or one of another cluster.
    """
    changed = database.execute(ADMIT, {"name": name, "cluster": cluster, "token": token}).rowcount
    if changed != 1:
        seen = database.execute("SELECT cluster, token FROM fences WHERE name = ?", (name,)).fetchone()
        raise Refused(f"token {token} of cluster {cluster} is refused: the newest is {seen[1]} of cluster {seen[0]}")


def store(database: sqlite3.Connection, body: str, *, token: int, cluster: str) -> None:
    """Store a report, if the lock is still this holder's as far as the database has seen.

    Raises:
        Refused: It isn't; nothing was written.
    """
    database.execute("BEGIN IMMEDIATE")  # the fence's row is ours until the end of the transaction
    try:
        admit(database, "reports", token=token, cluster=cluster)
        database.execute("INSERT INTO reports (body, fencing_token) VALUES (?, ?)", (body, token))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def main() -> None:
    """`reports.py DATABASE TEXT`, with the token and the cluster from the environment."""
    path, body = sys.argv[1:]
    database = open_database(path)
    try:
        token, cluster = int(os.environ["LOCKD_FENCING_TOKEN"]), os.environ["LOCKD_CLUSTER_ID"]
        store(database, body, token=token, cluster=cluster)
    except KeyError as error:
        sys.exit(f"error: {error.args[0]} is not set: run this by `lockctl elect NAME -- ...`")
    except Refused as error:
        sys.exit(f"error: {error}")
    finally:
        database.close()


if __name__ == "__main__":
    main()
