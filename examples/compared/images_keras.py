# SPDX-License-Identifier: MIT
"""Reads scanned digits with a convolutional network, in Keras."""

import keras
from images_data import BATCH, EPOCHS, x_test, x_train, y_test, y_train
from keras import layers

keras.utils.set_random_seed(0)
keras.config.set_image_data_format("channels_first")
model = keras.Sequential(
    [
        keras.Input((1, 8, 8)),
        layers.Conv2D(16, 3, padding="same"),
        layers.BatchNormalization(axis=1, momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, padding="same"),
        layers.BatchNormalization(axis=1, momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(10),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=0)
print(model.evaluate(x_test, y_test, verbose=0)[1])
