"""What goes wrong with faults, classed by what the caller can do."""

from __future__ import annotations

from lockd.errors import LockdError


class NotApplied(LockdError):
    """The fault did not take effect, or that can't be shown: what was done of it is undone, and no result counts."""


class NotHealed(LockdError):
    """The fault can't be shown to be undone: what follows on this cluster says nothing."""


class NotAvailable(LockdError):
    """The fault can't be had here; the message names what is missing, and the remedy."""
