# SPDX-License-Identifier: MIT
"""A generator of scanned digits and its judge, in traingraph."""

import numpy as np
from gan_data import BATCH, EPOCHS, NOISE, RATE, energy_distance, images

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
random = np.random.default_rng(0)
noise = tg.Tensor((BATCH, NOISE), name="noise")
image = tg.Tensor((BATCH, 64), name="image")
g = tg.Graph()
made = g.sequence(
    noise, layers.Linear(128), layers.ReLU(), layers.Linear(64), layers.Sigmoid()
)
judge = layers.Sequential(layers.Linear(128), layers.LeakyReLU(0.2), layers.Linear(1))
of_made, of_real = g.node(judge, made), g.node(judge, image)
losses = [(1 - of_real).relu() + (1 + of_made).relu(), -of_made]
judging, making = (
    tg.TrainingGraph([g], loss, tg.optimizers.Adam(RATE, beta1=0.5)) for loss in losses
)
judging.stop_gradient([made])
frozen = tg.ParameterGroup(tg.parameters_of(judge), lr_scale=0)
making.set_parameter_groups([frozen])
for t in (judging, making):
    t.add_inputs([noise, image])
    t.add_outputs({"made": made})
    t.compile("cpu")

for _ in range(EPOCHS):
    for x in np.split(random.permutation(images), len(images) // BATCH):
        for t in (judging, making):
            z = random.standard_normal((BATCH, NOISE), np.float32)
            t.execute({"noise": z, "image": x})

z = random.standard_normal((len(images), NOISE), np.float32)
print(energy_distance(tg.predict(making, {"noise": z, "image": images})["made"]))
