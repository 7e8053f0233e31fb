# SPDX-License-Identifier: MIT
"""Tells benign tumours from others, in Keras."""

import keras
from keras import layers
from tabular_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(2),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(model.evaluate(x_test, y_test, verbose=0)[1])
