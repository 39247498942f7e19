"""Types of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Shares = NDArray[np.float64]
