// SPDX-License-Identifier: MIT
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {

namespace {

/// Nothing has to change at an answer that nothing relies on.
Remedy note_of(const Probe& probe) {
  return {.text = probe.expected.empty()
                      ? "nothing relies on it: a number for docs/metal.md"
                      : "nothing relies on it: the emulator has to answer so, "
                        "too"};
}

}  // namespace

std::vector<Probe> all_probes() {
  std::vector<Probe> all;
  for (const auto topic :
       {memory_probes,       heap_probes,          stream_probes,
        kernel_probes,       executable_probes,    numeric_probes,
        half_sum_probes,     half_rounding_probes, limit_probes,
        large_probes,        gradient_op_probes,   convolution_probes,
        layout_probes,       window_probes,        random_probes,
        autodiff_probes,     gru_probes,           lstm_probes,
        image_probes,        image_doubt_probes,   image_loss_probes,
        image_window_probes, image_update_probes,  view_probes,
        speed_probes}) {
    for (Probe& probe : topic()) {
      const bool has_remedy = probe.remedy.constant[0] || probe.remedy.text[0];
      if (!has_remedy && probe.weight == Weight::Note) {
        probe.remedy = note_of(probe);
      }
      all.push_back(std::move(probe));
    }
  }
  return all;
}

}  // namespace traingraph::metal::probes
