# SPDX-License-Identifier: MIT
"""One module per system; each has `steps(workload, variant, precision)`, which returns a
function that does one training step and returns the loss as a Python number."""
