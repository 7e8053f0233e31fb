# SPDX-License-Identifier: MIT
"""What :func:`traingraph.fit` calls while it trains.

A callback is a function of an :class:`traingraph.Epoch`, and ``on_update`` one of the
graph; nothing here is needed to write them::

    tg.fit(training, data, callbacks=[lambda epoch: epoch.training.save("run.st")])
"""

from __future__ import annotations

from ._callbacks import MovingAverage, ReduceOnPlateau

__all__ = ["MovingAverage", "ReduceOnPlateau"]
