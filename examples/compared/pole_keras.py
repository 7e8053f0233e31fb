# SPDX-License-Identifier: MIT
"""Learns to balance a pole by REINFORCE, in Keras."""

import keras
import numpy as np
from keras import layers
from numpy.typing import NDArray
from pole_data import RATE, UPDATES, play

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [keras.Input((4,)), layers.Dense(64, activation="tanh"), layers.Dense(2)]
)
model.compile(
    optimizer=keras.optimizers.Adam(RATE),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)


def policy(states: NDArray[np.float32]) -> NDArray[np.float32]:
    return keras.ops.convert_to_numpy(model(states))


lengths: list[float] = []
for _ in range(UPDATES):
    states, actions, advantages, length = play(policy)
    model.train_on_batch(states, actions, sample_weight=advantages)
    lengths.append(length)
print(np.mean(lengths[-10:]))
