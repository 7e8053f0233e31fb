# SPDX-License-Identifier: MIT
"""Reads lines of digits with CTC, in Keras."""

import keras
from keras import layers
from reader_data import (
    BATCH,
    CLASSES,
    EPOCHS,
    STEPS,
    share_read,
    x_test,
    x_train,
    y_test,
    y_train,
)

keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((STEPS, 8)),
        layers.Conv1D(64, 5, padding="same", activation="relu"),
        layers.Conv1D(64, 5, padding="same", activation="relu"),
        layers.Conv1D(CLASSES, 5, padding="same"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=keras.losses.CTC())

model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(share_read(model.predict(x_test, verbose=0), y_test))
