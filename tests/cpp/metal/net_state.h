// SPDX-License-Identifier: MIT
// All that a step of SmallNet changes, to be compared and put back.
#pragma once

#include "metal/gpu_test.h"

namespace traingraph::testing {

struct NetState {
  std::vector<std::string> names;
  std::vector<Floats> values;  // parameters, statistics, slots
  std::uint64_t time_step = 0;
  bool operator==(const NetState&) const = default;
};

inline NetState state_of(const SmallNet& net) {
  NetState state;
  state.time_step = net.t->optimizer()->time_step();
  for (const StateTensor& tensor : net.t->state_tensors(true)) {
    if (tensor.descriptor.data_type != DataType::Float32) continue;
    state.names.push_back(tensor.name);
    state.values.emplace_back(tensor.descriptor.shape.num_elements());
  }
  std::vector<NamedData> into;
  for (std::size_t i = 0; i < state.names.size(); ++i) {
    into.push_back({state.names[i], view(state.values[i])});
  }
  net.t->read_state_dict(into);
  return state;
}

/// Sets the state as a checkpoint does.
inline void restore(SmallNet& net, const NetState& state) {
  std::vector<NamedData> from;
  for (std::size_t i = 0; i < state.names.size(); ++i) {
    from.push_back({state.names[i], view(std::as_const(state.values[i]))});
  }
  net.t->load_state_dict(from);
  net.t->optimizer()->set_time_step(state.time_step);
}

inline void expect_near(const NetState& got, const NetState& expected,
                        double tolerance) {
  EXPECT_EQ(got.names, expected.names);
  EXPECT_EQ(got.time_step, expected.time_step);
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    SCOPED_TRACE(got.names[i]);
    expect_near(got.values[i], expected.values[i], tolerance);
  }
}

/// Does an error say that some variables may be new and others old?
inline bool is_torn(const Error& error) {
  return error.info().hint.find("half updated: restore a checkpoint") !=
         std::string::npos;
}

}  // namespace traingraph::testing
