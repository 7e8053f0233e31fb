// SPDX-License-Identifier: MIT
// The device that suites run on which hold for every device. CTest runs each of
// them once per device; the table is in tests/CMakeLists.txt.
#pragma once

#include <cstddef>

#include "traingraph/device.h"

namespace traingraph::testing {

/// TRAINGRAPH_TEST_DEVICE: cpu, the default, gpu (Apple's), cuda, null or token
/// (token_device.h). Where a machine lacks it, all tests of the process are
/// skipped.
DeviceType test_device_type();
Device test_device();

/// One of one thread for each caller, with a queue of its own: for ranks, whose
/// executions wait for each other.
Device rank_device();

/// Another one, which is here wherever tests run.
Device other_device();

/// The null device runs everything but kernels: results stay zero and updates
/// change nothing. What tests expect is that, there.
inline bool computes() { return test_device_type() != DeviceType::Null; }

/// Is it a card of NVIDIA's, which lacks some ops and tells why?
bool is_cuda();

/// Can the host address the test device's memory?
bool has_host_views();

/// Storage takes a multiple of so many bytes on the test device.
std::size_t device_alignment();

}  // namespace traingraph::testing
