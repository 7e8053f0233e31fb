// SPDX-License-Identifier: MIT
// Every exception the library throws. what() follows one grammar:
//   [op "node name"] what is wrong: expected X, got Y. What to try.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "traingraph/export.h"

namespace traingraph {

/// The parts of a message; empty parts are left out of what().
struct ErrorInfo {
  std::string op = {};        // "convolution_2d", or the call: "execute"
  std::string node = {};      // name of the layer or tensor
  std::string what = {};      // what is wrong
  std::string expected = {};  // what would have been right
  std::string got = {};       // what came
  std::string hint = {};      // what to try; a sentence
};

/// Base of all errors; carries the parts its message is built from.
class TRAINGRAPH_API Error : public std::runtime_error {
 public:
  explicit Error(ErrorInfo info);
  explicit Error(std::string what)
      : Error(ErrorInfo{.what = std::move(what)}) {}
  const ErrorInfo& info() const& { return info_; }
  ErrorInfo info() const&& { return info_; }
  std::string op() const { return info_.op; }
  std::string node() const { return info_.node; }
  std::string expected() const { return info_.expected; }
  std::string got() const { return info_.got; }

 private:
  ErrorInfo info_;
};

// clang-format off
#define TRAINGRAPH_ERROR(Name) \
  class TRAINGRAPH_API Name : public Error { public: using Error::Error; }

/// A value is out of range, a name unknown, an argument missing.
TRAINGRAPH_ERROR(InvalidArgument);
/// Shapes or sizes disagree.
TRAINGRAPH_ERROR(ShapeError);
/// A data type that the operation does not take.
TRAINGRAPH_ERROR(DTypeError);
/// A valid request that this device cannot run.
TRAINGRAPH_ERROR(UnsupportedError);
/// Calls in the wrong order: execute before compile, gradient before forward.
TRAINGRAPH_ERROR(StateError);
/// Host or device memory could not be allocated.
TRAINGRAPH_ERROR(OutOfMemoryError);
/// The device failed while running, or is not available.
TRAINGRAPH_ERROR(DeviceError);
/// The execution was cancelled before it began; see Execution::cancel().
TRAINGRAPH_ERROR(CancelledError);

#undef TRAINGRAPH_ERROR
// clang-format on

/// The device is lost, and with it all work and all memory there is on it. What
/// was in flight ends with this error; every later call for this device throws
/// it at once. Results that were given back stay. A new process, and a
/// checkpoint of before, go on.
class TRAINGRAPH_API DeviceLostError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Our bug; the message says how to report it.
class TRAINGRAPH_API InternalError : public Error {
 public:
  explicit InternalError(ErrorInfo info);
  explicit InternalError(std::string what);
};

}  // namespace traingraph
