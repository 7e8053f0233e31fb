# SPDX-License-Identifier: MIT
"""Tells benign tumours from others, in traingraph."""

from tabular_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
x = tg.Tensor((BATCH, 30), name="x")
y = tg.Tensor((BATCH,), "int64", name="y")
g = tg.Graph()
logits = g.sequence(
    x,
    layers.Linear(64),
    layers.ReLU(),
    layers.Dropout(0.2),
    layers.Linear(64),
    layers.ReLU(),
    layers.Dropout(0.2),
    layers.Linear(2),
)
t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(1e-3))
t.add_inputs(x, y)
t.add_outputs({"logits": logits})
t.compile("cpu")

tg.fit(t, (x_train, y_train), epochs=EPOCHS, progress=False)
print(tg.evaluate(t, (x_test, y_test), metrics=["accuracy"])["accuracy"])
