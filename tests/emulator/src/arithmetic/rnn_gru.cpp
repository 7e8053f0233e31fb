// SPDX-License-Identifier: MIT
// The GRU and the single gate, sample by sample and step by step.
#include "rnn.h"

namespace emulator {
namespace {

/// A sample's order of steps and addresses.
struct Walk {
  std::int64_t steps, samples, hidden, sample;
  bool is_reverse;

  std::int64_t nth(std::int64_t i) const {
    return is_reverse ? steps - 1 - i : i;
  }
  std::int64_t state(std::int64_t j) const { return sample * hidden + j; }
  /// Element j of the i-th step's state.
  std::int64_t at(std::int64_t i, std::int64_t j) const {
    return (nth(i) * samples + sample) * hidden + j;
  }
  /// Element j of a block of three.
  std::int64_t gate(std::int64_t i, std::int64_t block, std::int64_t j) const {
    return ((nth(i) * samples + sample) * 3 + block) * hidden + j;
  }
};

template <class F>
void for_each_sample(const Array& source, const Array& weight, bool is_reverse,
                     F&& f) {
  Walk walk{source.type.shape[0], source.type.shape[1], weight.type.shape[1], 0,
            is_reverse};
  for (; walk.sample < walk.samples; ++walk.sample) f(walk);
}

/// Row `row` of the weight times x.
double dot(const Array& weight, std::int64_t row,
           const std::vector<double>& x) {
  const auto hidden = static_cast<std::int64_t>(x.size());
  double sum = 0;
  for (std::int64_t k = 0; k < hidden; ++k) {
    sum += weight.data[row * hidden + k] * x[k];
  }
  return sum;
}

std::int64_t update_block(const Gru& gru) { return gru.is_reset_first ? 1 : 0; }

}  // namespace

Kernel gru(const Gru& gru) {
  return [gru](const std::vector<const Array*>& arrays,
               std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* source = inputs.next();
    const Array* weight = inputs.next();
    const Array* state = inputs.next(gru.has_state);
    const Array* mask = inputs.next(gru.has_mask);
    const Array* bias = inputs.next(gru.has_bias);
    const std::int64_t zb = update_block(gru), rb = 1 - zb;
    for_each_sample(*source, *weight, gru.is_reverse, [&](const Walk& w) {
      std::vector<double> h(w.hidden), k(w.hidden), r(w.hidden), z(w.hidden);
      for (std::int64_t j = 0; j < w.hidden; ++j) {
        h[j] = at_or(state, w.state(j), 0);
      }
      for (std::int64_t i = 0; i < w.steps; ++i) {
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          k[j] = h[j] * at_or(mask, w.state(j), 1);
        }
        const auto gate = [&](std::int64_t block, std::int64_t j, double u,
                              RnnActivation f) {
          const double y = value_of(f, source->data[w.gate(i, block, j)] + u);
          results[1].data[w.gate(i, block, j)] = y;
          return y;
        };
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          z[j] = gate(zb, j, dot(*weight, zb * w.hidden + j, k), gru.update);
          r[j] = gate(rb, j, dot(*weight, rb * w.hidden + j, k), gru.reset);
        }
        std::vector<double> read = k;
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          if (!gru.is_reset_after) read[j] *= r[j];
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          double u = dot(*weight, 2 * w.hidden + j, read);
          if (gru.is_reset_after) u = (u + at_or(bias, j, 0)) * r[j];
          const double o = gate(2, j, u, gru.output);
          h[j] = gru.is_flipped ? (1 - z[j]) * h[j] + z[j] * o
                                : z[j] * h[j] + (1 - z[j]) * o;
          results[0].data[w.at(i, j)] = h[j];
        }
      }
    });
  };
}

Kernel gru_gradients(const Gru& gru) {
  return [gru](const std::vector<const Array*>& arrays,
               std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* weight = inputs.next();
    const Array* gradient = inputs.next();
    const Array* gates = inputs.next();
    const Array* states = inputs.next();
    const Array* state_gradient = inputs.next(gru.has_state_gradient);
    const Array* state = inputs.next(gru.has_state);
    const Array* mask = inputs.next(gru.has_mask);
    const Array* bias = inputs.next(gru.has_bias);
    Array &dx = results[0], &dweight = results[1];
    std::size_t next = 2;
    Array* const dstate = state ? &results[next++] : nullptr;
    Array* const dbias = bias ? &results[next++] : nullptr;
    const std::int64_t zb = update_block(gru), rb = 1 - zb;
    for_each_sample(*gates, *weight, gru.is_reverse, [&](const Walk& w) {
      const auto hidden = static_cast<std::size_t>(w.hidden);
      std::vector<double> carry(hidden);
      for (std::int64_t j = 0; j < w.hidden; ++j) {
        carry[j] = at_or(state_gradient, w.state(j), 0);
      }
      for (std::int64_t i = w.steps - 1; i >= 0; --i) {
        std::vector<double> before(hidden), k(hidden), next_carry(hidden),
            dk(hidden), from_candidate(hidden);
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          before[j] = i == 0 ? at_or(state, w.state(j), 0)
                             : states->data[w.at(i - 1, j)];
          k[j] = before[j] * at_or(mask, w.state(j), 1);
        }
        const auto value = [&](std::int64_t block, std::int64_t j) {
          return gates->data[w.gate(i, block, j)];
        };
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double dh = gradient->data[w.at(i, j)] + carry[j];
          const double z = value(zb, j), o = value(2, j);
          const double kept = gru.is_flipped ? 1 - z : z;
          const double dz =
              dh * (gru.is_flipped ? o - before[j] : before[j] - o);
          dx.data[w.gate(i, zb, j)] = dz * slope_of(gru.update, z);
          dx.data[w.gate(i, 2, j)] = dh * (1 - kept) * slope_of(gru.output, o);
          next_carry[j] = dh * kept;
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double a = dx.data[w.gate(i, 2, j)], r = value(rb, j);
          if (gru.is_reset_after) {
            const double du = a * r;
            if (dbias) dbias->data[j] += du;
            for (std::int64_t c = 0; c < w.hidden; ++c) {
              const std::int64_t at = (2 * w.hidden + j) * w.hidden + c;
              dweight.data[at] += du * k[c];
              dk[c] += du * weight->data[at];
            }
          } else {
            for (std::int64_t c = 0; c < w.hidden; ++c) {
              const std::int64_t at = (2 * w.hidden + j) * w.hidden + c;
              dweight.data[at] += a * k[c] * value(rb, c);
              from_candidate[c] += a * weight->data[at];
            }
          }
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double a = dx.data[w.gate(i, 2, j)], r = value(rb, j);
          double dr = from_candidate[j] * k[j];
          if (gru.is_reset_after) {
            dr = a * (dot(*weight, 2 * w.hidden + j, k) + at_or(bias, j, 0));
          } else {
            dk[j] += from_candidate[j] * r;
          }
          dx.data[w.gate(i, rb, j)] = dr * slope_of(gru.reset, r);
        }
        for (std::int64_t block = 0; block < 2; ++block) {
          for (std::int64_t j = 0; j < w.hidden; ++j) {
            const double a = dx.data[w.gate(i, block, j)];
            for (std::int64_t c = 0; c < w.hidden; ++c) {
              const std::int64_t at = (block * w.hidden + j) * w.hidden + c;
              dweight.data[at] += a * k[c];
              dk[c] += a * weight->data[at];
            }
          }
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          carry[j] = next_carry[j] + dk[j] * at_or(mask, w.state(j), 1);
        }
      }
      for (std::int64_t j = 0; dstate && j < w.hidden; ++j) {
        dstate->data[w.state(j)] = carry[j];
      }
    });
  };
}

Kernel single_gate(const SingleGate& single) {
  return [single](const std::vector<const Array*>& arrays,
                  std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* source = inputs.next();
    const Array* weight = inputs.next();
    const Array* state = inputs.next(single.has_state);
    const Array* mask = inputs.next(single.has_mask);
    for_each_sample(*source, *weight, single.is_reverse, [&](const Walk& w) {
      std::vector<double> k(w.hidden);
      for (std::int64_t i = 0; i < w.steps; ++i) {
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double h = i == 0 ? at_or(state, w.state(j), 0)
                                  : results[0].data[w.at(i - 1, j)];
          k[j] = h * at_or(mask, w.state(j), 1);
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double u = source->data[w.at(i, j)] + dot(*weight, j, k);
          results[1].data[w.at(i, j)] = u;
          results[0].data[w.at(i, j)] = value_of(single.activation, u);
        }
      }
    });
  };
}

Kernel single_gate_gradients(const SingleGate& single) {
  return [single](const std::vector<const Array*>& arrays,
                  std::vector<Array>& results) {
    Inputs inputs(arrays);
    const Array* weight = inputs.next();
    const Array* gradient = inputs.next();
    const Array* arguments = inputs.next();
    const Array* state_gradient = inputs.next(single.has_state_gradient);
    const Array* state = inputs.next(single.has_state);
    const Array* mask = inputs.next(single.has_mask);
    Array &dx = results[0], &dweight = results[1];
    Array* const dstate = state ? &results[2] : nullptr;
    for_each_sample(*arguments, *weight, single.is_reverse, [&](const Walk& w) {
      std::vector<double> carry(w.hidden);
      for (std::int64_t j = 0; j < w.hidden; ++j) {
        carry[j] = at_or(state_gradient, w.state(j), 0);
      }
      const auto value = [&](std::int64_t i, std::int64_t j) {
        return value_of(single.activation, arguments->data[w.at(i, j)]);
      };
      for (std::int64_t i = w.steps - 1; i >= 0; --i) {
        std::vector<double> dk(w.hidden);
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          const double dh = gradient->data[w.at(i, j)] + carry[j];
          const double a = dh * slope_of(single.activation, value(i, j));
          dx.data[w.at(i, j)] = a;
          for (std::int64_t c = 0; c < w.hidden; ++c) {
            const double h =
                i == 0 ? at_or(state, w.state(c), 0) : value(i - 1, c);
            dweight.data[j * w.hidden + c] +=
                a * h * at_or(mask, w.state(c), 1);
            dk[c] += a * weight->data[j * w.hidden + c];
          }
        }
        for (std::int64_t j = 0; j < w.hidden; ++j) {
          carry[j] = dk[j] * at_or(mask, w.state(j), 1);
        }
      }
      for (std::int64_t j = 0; dstate && j < w.hidden; ++j) {
        dstate->data[w.state(j)] = carry[j];
      }
    });
  };
}

}  // namespace emulator
