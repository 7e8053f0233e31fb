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
        layers.Bidirectional(layers.GRU(64, return_sequences=True)),
        layers.Dense(CLASSES),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss=keras.losses.CTC())

model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(share_read(model.predict(x_test, verbose=0), y_test))
