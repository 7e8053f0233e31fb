# SPDX-License-Identifier: MIT
"""A variational autoencoder of scanned digits, in Keras."""

import keras
from keras import layers, ops
from vae_data import BATCH, CODE, EPOCHS, x_test, x_train


class Sampling(layers.Layer):
    """Draws a code, and adds its distance from a normal distribution to the loss."""

    def call(self, code):
        mean, log_variance = ops.split(code, 2, axis=1)
        distance = mean**2 + ops.exp(log_variance) - log_variance - 1
        self.add_loss(0.5 * ops.mean(ops.sum(distance, axis=1)))
        noise = keras.random.normal(ops.shape(mean))
        return mean + ops.exp(0.5 * log_variance) * noise


def error(x, decoded):
    losses = keras.losses.binary_crossentropy(x, decoded, from_logits=True)
    return 64 * losses  # the sum over pixels


keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(2 * CODE),
        Sampling(),
        layers.Dense(128, activation="relu"),
        layers.Dense(64),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=error)

model.fit(x_train, x_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(model.evaluate(x_test, x_test, verbose=0))
