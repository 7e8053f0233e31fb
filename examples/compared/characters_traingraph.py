# SPDX-License-Identifier: MIT
"""Predicts the next character of Python's manual with an LSTM, in traingraph."""

from characters_data import (
    BATCH,
    CHARACTERS,
    EPOCHS,
    WINDOW,
    x_test,
    x_train,
    y_test,
    y_train,
)

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
now = tg.Tensor((BATCH, WINDOW), "int64", name="now")
following = tg.Tensor((BATCH, WINDOW), "int64", name="following")
g = tg.Graph()
scores = g.sequence(
    now,
    layers.Embedding(CHARACTERS, 32),
    layers.LSTM(128),
    layers.Linear(CHARACTERS),
)
classes = scores.transpose(0, 2, 1)  # losses have them on axis 1
t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(1e-2))
t.add_inputs(now, following)
t.compile("cpu")

tg.fit(t, (x_train, y_train), epochs=EPOCHS, progress=False)
print(tg.evaluate(t, (x_test, y_test))["loss"])
