# SPDX-License-Identifier: MIT
"""What `help("if")` and the like show, as indices of characters; Python has it.

Windows of 32 characters, each with the characters that follow; one in ten is held
out.
"""

from __future__ import annotations

from pydoc_data.topics import topics

import numpy as np

EPOCHS = 3
BATCH = 32
WINDOW = 32

text = "\n\n".join(topics[name] for name in sorted(topics))[:160_000]
text = text.encode("ascii", "replace").decode()
alphabet = "".join(sorted(set(text)))
CHARACTERS = len(alphabet)
indices = np.array([alphabet.index(c) for c in text])
count = (len(indices) - 1) // WINDOW
x = indices[: count * WINDOW].reshape(count, WINDOW)
y = indices[1 : count * WINDOW + 1].reshape(count, WINDOW)
is_held_out = np.arange(count) % 10 == 0
x_train, y_train = x[~is_held_out], y[~is_held_out]
x_test, y_test = x[is_held_out], y[is_held_out]
