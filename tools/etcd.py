"""Tell which etcd demos and tests will run."""

from __future__ import annotations

import sys

from lockd.errors import ConfigError
from lockd.etcd.binary import find_etcd


def main() -> None:
    try:
        etcd = find_etcd()
    except ConfigError as error:
        sys.exit(f"setup: {error}")
    print(f"setup: done, with etcd {'.'.join(map(str, etcd.version))} at {etcd.path}")


if __name__ == "__main__":
    main()
