# SPDX-License-Identifier: MIT
"""Learns to balance a pole by REINFORCE, in traingraph."""

import numpy as np
from pole_data import POLES, RATE, STEPS, UPDATES, play

import traingraph as tg
from traingraph import layers

tg.set_seed(0)
state = tg.Tensor((POLES * STEPS, 4), name="state")
action = tg.Tensor((POLES * STEPS,), "int64", name="action")
advantage = tg.Tensor((POLES * STEPS,), name="advantage")
g = tg.Graph()
g.sequence(state, layers.Linear(64), layers.Tanh(), layers.Linear(2))
t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(RATE))
t.add_inputs(state, action, advantage)
t.compile("cpu")

lengths: list[float] = []
for _ in range(UPDATES):
    states, actions, advantages, length = play(lambda states: tg.predict(t, states))
    t.execute({"state": states}, {"action": actions}, {"advantage": advantages})
    lengths.append(length)
print(np.mean(lengths[-10:]))
