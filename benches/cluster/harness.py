"""Makes the modules of tests/cluster importable: nodes, PostgreSQL with a standby, SeaweedFS. Import it before them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "cluster"))
