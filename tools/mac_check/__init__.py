# SPDX-License-Identifier: MIT
"""What tools/mac_check.sh runs: see docs/metal-check.md."""
