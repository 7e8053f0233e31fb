# SPDX-License-Identifier: MIT
"""Predicts the next character of Python's manual with an LSTM, in Keras."""

import keras
from characters_data import (
    BATCH,
    CHARACTERS,
    EPOCHS,
    x_test,
    x_train,
    y_test,
    y_train,
)
from keras import initializers, layers

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        layers.Embedding(CHARACTERS, 32, initializers.RandomNormal(stddev=1)),
        layers.LSTM(128, return_sequences=True),
        layers.Dense(CHARACTERS),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)

model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(model.evaluate(x_test, y_test, verbose=0))
