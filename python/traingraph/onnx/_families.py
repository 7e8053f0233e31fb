# SPDX-License-Identifier: MIT
"""All that is mapped: importing one registers its ops."""

# ruff: noqa: F401  they are imported for what they register
from . import (
    _arithmetic,
    _attention,
    _einsum,
    _elementwise,
    _gather_nd,
    _grid_sample,
    _layout,
    _network,
    _normalization,
    _order,
    _pool_indices,
    _pooling,
    _quantize,
    _recurrent,
    _reductions,
    _resize,
    _rotary,
)
