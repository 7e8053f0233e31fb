# SPDX-License-Identifier: MIT
"""A variational autoencoder of scanned digits, in traingraph."""

import numpy as np
from vae_data import BATCH, CODE, EPOCHS, x_test, x_train

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
random = np.random.default_rng(0)
x = tg.Tensor((BATCH, 64), name="x")
noise = tg.Tensor((BATCH, CODE), name="noise")
g = tg.Graph()
code = g.sequence(x, layers.Linear(128), layers.ReLU(), layers.Linear(2 * CODE))
mean, log_variance = code[:, :CODE], code[:, CODE:]
z = mean + (0.5 * log_variance).exp() * noise
decoded = g.sequence(z, layers.Linear(128), layers.ReLU(), layers.Linear(64))
error = tg.losses.SigmoidCrossEntropy(weight=64)  # the sum over pixels
g.node(error, decoded, loss_labels=[x])
distance = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(axis=1)
t = tg.TrainingGraph([g], distance, tg.optimizers.Adam(3e-3))
t.add_inputs([x, noise])
t.compile("cpu")


def with_noise(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"x": x, "noise": random.standard_normal((len(x), CODE), np.float32)}


tg.fit(t, lambda _: with_noise(x_train), epochs=EPOCHS, progress=False)
print(tg.evaluate(t, with_noise(x_test))["loss"])
