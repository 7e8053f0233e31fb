# SPDX-License-Identifier: MIT
"""A generator of scanned digits and its judge, in Keras."""

import keras
import torch
from gan_data import BATCH, EPOCHS, NOISE, RATE, energy_distance, images
from keras import layers, ops
from torch.utils.data import DataLoader

keras.utils.set_random_seed(0)
generator = keras.Sequential(
    [
        keras.Input((NOISE,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(64, activation="sigmoid"),
    ]
)
judge = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(128),
        layers.LeakyReLU(0.2),
        layers.Dense(1),
    ]
)
making = keras.optimizers.Adam(RATE, beta_1=0.5)
judging = keras.optimizers.Adam(RATE, beta_1=0.5)
loader = DataLoader(torch.from_numpy(images), batch_size=BATCH, shuffle=True)


def update(
    model: keras.Model, optimizer: keras.optimizers.Adam, loss: torch.Tensor
) -> None:
    model.zero_grad()
    loss.backward()
    weights = model.trainable_weights
    with torch.no_grad():
        optimizer.apply([weight.value.grad for weight in weights], weights)


for _ in range(EPOCHS):
    for x in loader:
        made = generator(keras.random.normal((len(x), NOISE))).detach()
        loss = ops.mean(ops.relu(1 - judge(x)) + ops.relu(1 + judge(made)))
        update(judge, judging, loss)
        loss = -ops.mean(judge(generator(keras.random.normal((len(x), NOISE)))))
        update(generator, making, loss)

made = generator.predict(keras.random.normal((len(images), NOISE)), verbose=0)
print(energy_distance(made))
