// SPDX-License-Identifier: MIT
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {

std::vector<Probe> all_probes() {
  std::vector<Probe> all;
  for (const auto topic :
       {memory_probes,        heap_probes,        stream_probes,
        executable_probes,    numeric_probes,     half_sum_probes,
        half_rounding_probes, limit_probes,       large_probes,
        gradient_op_probes,   convolution_probes, layout_probes,
        window_probes,        random_probes,      autodiff_probes,
        gru_probes,           lstm_probes,        image_probes,
        image_doubt_probes,   image_loss_probes,  image_window_probes,
        image_update_probes,  speed_probes}) {
    for (Probe& probe : topic()) all.push_back(std::move(probe));
  }
  return all;
}

}  // namespace traingraph::metal::probes
