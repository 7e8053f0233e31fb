# SPDX-License-Identifier: MIT
"""Reads five digits, then five others with a new head, in traingraph."""

from finetune_data import (
    BATCH,
    EPOCHS,
    HEAD_EPOCHS,
    x_many,
    x_test,
    x_train,
    y_many,
    y_test,
    y_train,
)

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
x = tg.Tensor((BATCH, 1, 8, 8), name="x")
y = tg.Tensor((BATCH,), "int64", name="y")
body, head, new_head = tg.Graph(), tg.Graph(), tg.Graph()
features = body.sequence(
    x,
    layers.Convolution(16, 3),
    layers.ReLU(),
    layers.MaxPooling(2),
    layers.Convolution(32, 3),
    layers.ReLU(),
    layers.Flatten(),
)
head.node(layers.Linear(5), features)
logits = new_head.node(layers.Linear(5), features)
loss = tg.losses.SoftmaxCrossEntropy()

first = tg.TrainingGraph([body, head], loss, tg.optimizers.Adam(1e-3))
first.add_inputs(x, y)
first.compile("cpu")
tg.fit(first, (x_many, y_many), epochs=EPOCHS, progress=False)

adam = tg.optimizers.AdamW(1e-2, regularization_scale=0.1)
second = tg.TrainingGraph([body, new_head], loss, adam)
second.add_inputs(x, y)
second.add_outputs({"logits": logits})
frozen = tg.ParameterGroup(tg.parameters_of(body), lr_scale=0)
biases = tg.parameters_of(new_head, lambda _, p: p.name.endswith(".biases"))
second.set_parameter_groups([frozen, tg.ParameterGroup(biases, weight_decay=0)])
second.compile("cpu")
tg.fit(second, (x_train, y_train), epochs=HEAD_EPOCHS, progress=False)
print(tg.evaluate(second, (x_test, y_test), metrics=["accuracy"])["accuracy"])
