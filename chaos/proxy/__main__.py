"""The proxy's process: `python -m chaos.proxy NAME`, told what to do at the unix socket of that name."""

from __future__ import annotations

import sys

from chaos.proxy.exchange import Exchange
from chaos.proxy.serving import serve

if __name__ == "__main__":
    serve(sys.argv[1], Exchange)
