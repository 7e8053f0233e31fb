// SPDX-License-Identifier: MIT
// single_gate_steps and its gradient.
#include "cpu/ops/rnn_backward.h"
#include "cpu/ops/rnn_forward.h"

namespace traingraph::cpu {
namespace {

template <class T>
class SingleGateCell : public RecurrentCell<T, 1> {
  using Base = RecurrentCell<T, 1>;

 public:
  struct Rows {
    GateRow h, slope;
  };

  SingleGateCell(UnitBuilder& unit, const RecurrentArguments& args)
      : Base(unit, args) {
    this->gate_[0].saves_result = false;  // always its argument
  }

  void step(const Place& p, float* h) const {
    Base::load(0, p, Base::product(0, p), h);
    Base::activate(0, p, h);
  }

  const float* restore(const Place& p, Rows& r) const {
    Base::restore(0, p, r.h, r.slope);
    return r.h;
  }
  void differentiate(const Place& p, const Rows& r, float* dh,
                     float* direct) const {
    Base::finish_gate(0, p, dh, r.slope);
    std::fill_n(direct, p.n, 0.0f);
  }
};

}  // namespace

void lower_single_gate_steps(UnitBuilder& unit) {
  emit_recurrent<RecurrentForward, SingleGateCell>(unit);
}

void lower_single_gate_steps_gradient(UnitBuilder& unit) {
  emit_recurrent<RecurrentBackward, SingleGateCell>(unit);
}

}  // namespace traingraph::cpu
