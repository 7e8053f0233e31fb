# SPDX-License-Identifier: MIT
"""Scripts that run on several ranks, by the mpiexec of this Python's `mpich`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PATIENCE = 120.0
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
needs_mpi = pytest.mark.skipif(
    MPIEXEC is None, reason="`pip install mpich` has mpiexec"
)

IMPORTS = """
import os
import signal
import sys
import threading
import time

import numpy as np

import traingraph as tg

def say(*words):
    # One write, which those of other ranks do not mix with.
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""


# MPICH's mpiexec ends all ranks when one is killed, and often itself, whatever its
# options say: here it does not see that.
SHIELD = ["sh", "-c", '"$@"; sleep 8', "sh"]


def run_ranks(
    size: int,
    script: str,
    *,
    arguments: tuple[str, ...] = (),
    is_shielded: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs `script`, source text or a path, on each rank."""
    path = Path(script) if script.endswith(".py") else None
    source = [str(path)] if path else ["-c", IMPORTS + textwrap.dedent(script)]
    assert MPIEXEC is not None
    shield = SHIELD if is_shielded else []
    launch = [MPIEXEC, "-n", str(size), *shield, sys.executable]
    return subprocess.run(
        [*launch, *source, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
