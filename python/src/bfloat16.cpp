// SPDX-License-Identifier: MIT
// bfloat16 in arrays. NumPy has no such type: the package ml_dtypes adds one,
// which is used where it is installed and never needed. Without it, and until
// an array is handed out, the bits are records of one field, "bfloat16".
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

#include "arrays.h"
#include "calls.h"

namespace traingraph::python {
namespace {

/// Made once and kept, for arrays outlive modules.
py::dtype record_of_bits() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::dtype> dtype;
  return dtype
      .call_once_and_store_result([] {
        const py::module_ numpy = py::module_::import("numpy");
        py::list fields;
        fields.append(py::make_tuple("bfloat16", numpy.attr("uint16")));
        return py::dtype(numpy.attr("dtype")(fields));
      })
      .get_stored();
}

bool has_name(const py::dtype& dtype) {
  return dtype.attr("type").attr("__name__").cast<std::string>() == "bfloat16";
}

/// A float that rounds to the same bfloat16 as `x`: where x is none, its
/// neighbour with an odd last bit, which is no tie.
template <class Wide>
float before_rounding(Wide x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<Wide>(nearest) == x || std::isnan(x)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<Wide>(nearest)) > std::fabs(x)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

/// The bits of one block of floats; nothing for another array.
template <class Wide>
std::optional<Array> rounded(py::handle source) {
  using Block = py::array_t<Wide, py::array::c_style>;
  if (!py::isinstance<Block>(source)) return std::nullopt;
  const auto block = py::reinterpret_borrow<Block>(source);
  const std::span shape(block.shape(), static_cast<std::size_t>(block.ndim()));
  py::array_t<std::uint16_t> result(
      std::vector<py::ssize_t>(shape.begin(), shape.end()));
  const Wide* const from = block.data();
  std::uint16_t* const to = result.mutable_data();
  const py::ssize_t count = block.size();
  made_without_gil([&] {
    for (py::ssize_t i = 0; i < count; ++i) {
      to[i] = bfloat16(before_rounding(from[i])).bits;
    }
  });
  return py::reinterpret_steal<Array>(result.release());
}

Array bfloat16_bits(const py::object& floats) {
  if (const auto bits = rounded<float>(floats)) return *bits;
  if (const auto bits = rounded<double>(floats)) return *bits;
  if (const auto bits = rounded<long double>(floats)) return *bits;
  throw InvalidArgument(ErrorInfo{.op = "bfloat16_bits",
                                  .what = "this is no block of floats",
                                  .expected = "a C-contiguous array",
                                  .got = describe(floats)});
}

}  // namespace

bool is_bfloat16(const py::dtype& dtype) {
  // Calls ask for each of their arrays, most of which have one and the same
  // dtype object; the first one that is found is never let go.
  static std::atomic<PyObject*> known{nullptr};
  if (dtype.ptr() == known) return true;
  if (dtype.kind() != 'V' || dtype.itemsize() != 2) return false;
  if (dtype.equal(record_of_bits())) return true;
  if (!has_name(dtype)) return false;
  PyObject* none = nullptr;
  if (dtype.attr("isnative").cast<bool>() &&
      known.compare_exchange_strong(none, dtype.ptr())) {
    dtype.inc_ref();
  }
  return true;
}

py::dtype stored_dtype(DataType type) {
  if (type == DataType::BFloat16) return record_of_bits();
  return py::dtype(std::string(to_string(type)));
}

py::dtype to_dtype(DataType type) {
  if (type != DataType::BFloat16) return stored_dtype(type);
  try {
    return py::dtype::from_args(
        py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  throw DTypeError(ErrorInfo{
      .op = "numpy",
      .what = "NumPy has no bfloat16 without the package ml_dtypes",
      .expected = "ml_dtypes, or another type that is asked for",
      .got = "bfloat16",
      .hint = "pip install ml_dtypes; or tensor.numpy(dtype=\"float32\"), "
              "result.output(name, dtype=\"float32\")."});
}

void bind_bfloat16(py::module_& m) {
  m.def("bfloat16_bits", &bfloat16_bits, py::arg("floats"),
        "Floats as bfloat16: the bits, uint16.");
  m.def(
      "bfloat16_dtype", [] { return to_dtype(DataType::BFloat16); },
      "The data type of ml_dtypes. Raises DTypeError without that package.");
  m.def(
      "bfloat16_record", [] { return stored_dtype(DataType::BFloat16); },
      "The data type of the bits, inside the package.");
}

}  // namespace traingraph::python
