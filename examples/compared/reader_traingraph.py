# SPDX-License-Identifier: MIT
"""Reads lines of digits with CTC, in traingraph."""

from reader_data import (
    BATCH,
    CLASSES,
    DIGITS,
    EPOCHS,
    STEPS,
    share_read,
    x_test,
    x_train,
    y_test,
    y_train,
)

import traingraph as tg
from traingraph import layers

tg.Platform.set_rng_seed(0)
x = tg.Tensor((BATCH, STEPS, 8), name="x")
y = tg.Tensor((BATCH, DIGITS), "int32", name="y")
g = tg.Graph()
g.sequence(x, layers.GRU(64, bidirectional=True), layers.Linear(CLASSES))
t = tg.TrainingGraph([g], tg.losses.CTC(), tg.optimizers.Adam(1e-2))
t.add_inputs({"x": x}, {"y": y})
t.compile("cpu")

tg.fit(t, (x_train, y_train), epochs=EPOCHS, progress=False)
print(share_read(tg.predict(t, x_test), y_test))
