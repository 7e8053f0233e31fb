# SPDX-License-Identifier: MIT
"""Reads five digits, then five others with a new head, in Keras."""

import keras
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
from keras import layers

keras.utils.set_random_seed(0)
keras.config.set_image_data_format("channels_first")
body = keras.Sequential(
    [
        keras.Input((1, 8, 8)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Flatten(),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

model = keras.Sequential([body, layers.Dense(5)])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss)
model.fit(x_many, y_many, batch_size=BATCH, epochs=EPOCHS, verbose=0)

body.trainable = False
model = keras.Sequential([body, layers.Dense(5)])
adam = keras.optimizers.AdamW(1e-2, weight_decay=0.1)
adam.exclude_from_weight_decay(var_names=["bias"])
model.compile(optimizer=adam, loss=loss, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=BATCH, epochs=HEAD_EPOCHS, verbose=0)
print(model.evaluate(x_test, y_test, verbose=0)[1])
