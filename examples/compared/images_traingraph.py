# SPDX-License-Identifier: MIT
"""Reads scanned digits with a convolutional network, in traingraph."""

from images_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
image = tg.Tensor((BATCH, 1, 8, 8), name="image")
label = tg.Tensor((BATCH,), "int64", name="label")
g = tg.Graph()
logits = g.sequence(
    image,
    layers.Convolution(16, 3),
    layers.BatchNormalization(momentum=0.9),
    layers.ReLU(),
    layers.MaxPooling(2),
    layers.Convolution(32, 3),
    layers.BatchNormalization(momentum=0.9),
    layers.ReLU(),
    layers.MaxPooling(2),
    layers.Flatten(),
    layers.Dropout(0.2),
    layers.Linear(10),
)
t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(2e-3))
t.add_inputs(image, label)
t.add_outputs({"logits": logits})
t.compile("cpu")

tg.fit(t, (x_train, y_train), epochs=EPOCHS, progress=False)
print(tg.evaluate(t, (x_test, y_test), metrics=["accuracy"])["accuracy"])
