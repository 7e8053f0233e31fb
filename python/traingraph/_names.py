# SPDX-License-Identifier: MIT
"""Which name was meant: keywords, cases of enums, phases."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]

# What others call it. Only names that a call has count.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "amsgrad": ("uses_amsgrad",),
    "axis": ("axes",),
    "batch": ("batch_size",),
    "betas": ("beta1",),
    "bias": ("biases", "uses_biases", "bias_terms"),
    "callback": ("completion_handler",),
    "centered": ("is_centered",),
    "cuda": ("gpu",),
    "dilation": ("dilation_rates",),
    "dim": ("axis", "axes"),
    "dimension": ("axis", "axes"),
    "dimensions": ("axes", "axis"),
    "dims": ("axes", "axis"),
    "dtype": ("data_type",),
    "eps": ("epsilon", "variance_epsilon"),
    "groups": ("group_count",),
    "initial_epoch": ("first_epoch",),
    "in_channels": ("input_feature_channel_count", "feature_channel_count"),
    "in_features": ("input_feature_channel_count",),
    "label": ("name",),
    "labels": ("loss_labels", "loss_labels_data"),
    "lr": ("learning_rate", "lr_scale"),
    "momentum": ("momentum_scale",),
    "mps": ("gpu",),
    "nesterov": ("uses_nesterov_momentum",),
    "mode": ("maximize",),
    "num_heads": ("head_count",),
    "num_layers": ("layer_count",),
    "out_channels": ("output_feature_channel_count",),
    "out_features": ("output_feature_channel_count",),
    "min_lr": ("min_rate",),
    "p": ("rate",),
    "probability": ("rate",),
    "restore_best_weights": ("keep_best",),
    "size": ("shape", "kernel_size"),
    "sync": ("synchronous",),
    "validation_data": ("validation",),
    "verbose": ("progress",),
    "weight_decay": ("regularization_scale",),
}


def _is_short_for(name: str, full: str) -> bool:
    words = full.split("_")
    initials = "".join(word[:1] for word in words)
    begins = any(word.startswith(name) for word in words)
    return name == initials or (len(name) > 2 and begins)


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that was meant; empty when none is like it."""
    known = list(names)
    name = name.lower()
    candidates = (
        *(meant for meant in SYNONYMS.get(name, ()) if meant in known),
        *difflib.get_close_matches(name, known, 1, 0.6),
        *(full for full in known if _is_short_for(name, full)),
    )
    return candidates[0] if candidates else ""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint, or nothing."""
    meant = nearest(name, names)
    return f'Did you mean "{meant}"?' if meant else ""
