// SPDX-License-Identifier: MIT
#include "graph/require_fits.h"

#include <utility>

#include "traingraph/error.h"

namespace traingraph {
namespace {

const char* problem_of(Misfit misfit) {
  switch (misfit) {
    case Misfit::Type:
      return " has the wrong type";
    case Misfit::Shape:
      return " has the wrong shape";
    case Misfit::TooLong:
      return " is too long, and its leading bytes are no smaller batch";
    case Misfit::None:
    case Misfit::TooShort:
      break;
  }
  return " is too short";
}

}  // namespace

Misfit misfit_of(const TensorData& data, const WantedData& wanted) {
  const auto type = data.type();
  if (type && *type != wanted.desc.data_type) return Misfit::Type;
  if (data.descriptor) {
    const Shape& shape = data.descriptor->shape;
    if (shape != wanted.desc.shape && shape != wanted.whole) {
      return Misfit::Shape;
    }
  }
  const std::size_t bytes = wanted.desc.size_bytes();
  if (!data.bytes || data.length < bytes) return Misfit::TooShort;
  if (data.length > bytes && !wanted.may_be_longer) return Misfit::TooLong;
  return Misfit::None;
}

void fail_misfit(const char* call, std::string node, const TensorData& data,
                 const WantedData& wanted, Misfit misfit, std::string hint) {
  ErrorInfo info{.op = call,
                 .node = std::move(node),
                 .what = std::string(wanted.name) + problem_of(misfit),
                 .expected = {},
                 .got = {},
                 .hint = std::move(hint)};
  if (misfit == Misfit::Type) {
    // The words alone: Python converts by them.
    info.expected = to_string(wanted.desc.data_type);
    info.got = to_string(*data.type());
    throw DTypeError(std::move(info));
  }
  if (misfit == Misfit::Shape) {
    info.expected = wanted.desc.shape.to_string();
    info.got = data.descriptor->shape.to_string();
  } else {
    info.expected = std::to_string(wanted.desc.size_bytes()) + " bytes, " +
                    wanted.desc.to_string();
    info.got = std::to_string(data.bytes ? data.length : 0);
  }
  throw ShapeError(std::move(info));
}

void require_fits(const char* call, std::string_view node,
                  const TensorData& data, const WantedData& wanted) {
  const Misfit misfit = misfit_of(data, wanted);
  if (misfit == Misfit::None) return;
  fail_misfit(call, std::string(node), data, wanted, misfit,
              misfit == Misfit::Type ? "Convert it first." : "");
}

}  // namespace traingraph
