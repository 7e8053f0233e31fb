// SPDX-License-Identifier: MIT
#include "data_parallel.h"

#include <pybind11/stl.h>

#include "errors.h"
#include "lifetime.h"
#include "python_call.h"

namespace traingraph::python {
namespace {

constexpr const char* kOnBucket = "on_bucket";

GradientAccumulation to_gradients(const RankGradients& value) {
  if (py::isinstance<py::str>(value)) {
    const auto name = value.cast<std::string>();
    if (name == "by_loss") return GradientAccumulation::ByLoss;
    if (name == "sum") return GradientAccumulation::Sum;
    if (name == "mean") return GradientAccumulation::Mean;
  }
  throw InvalidArgument(
      ErrorInfo{.op = "compile",
                .node = "gradients_of_ranks",
                .what = "no way to make one gradient of several",
                .expected = "\"by_loss\", \"sum\" or \"mean\"",
                .got = py::repr(value).cast<std::string>(),
                .hint = {}});
}

std::function<void(const GradientBucket&)> to_hook(const BucketHook& hook) {
  if (!PyCallable_Check(hook.ptr())) {
    throw InvalidArgument(
        ErrorInfo{.op = "compile",
                  .node = kOnBucket,
                  .what = "cannot be called",
                  .expected = "a function of index, values and names",
                  .got = py::repr(hook).cast<std::string>(),
                  .hint = {}});
  }
  return [object = keep_alive(hook)](const GradientBucket& bucket) {
    call_python(object, kOnBucket, [&](const py::object& function) {
      py::list names;
      for (const std::string_view name : bucket.parameters) {
        names.append(py::str(name.data(), name.size()));
      }
      function(bucket.index, view_of(bucket.values), names);
    });
  };
}

}  // namespace

DataParallel to_data_parallel(const RankArguments& arguments) {
  DataParallel result;
  if (arguments.collective) {
    result.collective = collective_of(*arguments.collective);
  }
  result.gradients_of_ranks = to_gradients(arguments.gradients_of_ranks);
  result.bucket_bytes = arguments.bucket_bytes;
  result.shard_optimizer = arguments.shard_optimizer;
  result.reduce_losses = arguments.reduce_losses;
  result.synchronize_batch_norm = arguments.synchronize_batch_norm;
  result.collective_timeout = arguments.collective_timeout;
  if (arguments.on_bucket) result.on_bucket = to_hook(*arguments.on_bucket);
  return result;
}

}  // namespace traingraph::python
