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

tg.set_seed(0)
x = tg.Tensor((BATCH, 1, STEPS, 8), name="x")
y = tg.Tensor((BATCH, DIGITS), "int32", name="y")
g = tg.Graph()
h = g.sequence(
    x,
    layers.Convolution(64, (5, 8), padding=(2, 0)),
    layers.ReLU(),
    layers.Convolution(64, (5, 1)),
    layers.ReLU(),
    layers.Convolution(CLASSES, (5, 1)),
)
h[..., 0].transpose(0, 2, 1)
t = tg.TrainingGraph([g], tg.losses.CTC(), tg.optimizers.Adam(5e-3))
t.add_inputs(x, y)
t.compile("cpu")

tg.fit(t, (x_train[:, None], y_train), epochs=EPOCHS, progress=False)
print(share_read(tg.predict(t, x_test[:, None]), y_test))
