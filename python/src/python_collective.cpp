// SPDX-License-Identifier: MIT
// A collective whose operations are methods of a Python object, called on the
// collective's thread. It takes the GIL for the call and no lock besides.
#include <pybind11/numpy.h>

#include <chrono>
#include <optional>

#include "collective.h"
#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

/// A method that does not return must not keep what drops the collective.
constexpr auto kEndPatience = std::chrono::seconds(10);

/// The memory itself, for the time of a call.
template <class Element>
py::array view_of(std::span<Element> values) {
  using Value = std::remove_const_t<Element>;
  using Stored =
      std::conditional_t<std::is_same_v<Value, std::byte>, std::uint8_t, Value>;
  const auto size = static_cast<py::ssize_t>(values.size());
  py::array array(py::dtype::of<Stored>(), std::vector<py::ssize_t>{size}, {},
                  values.data(), py::none());
  if (std::is_const_v<Element>) {
    array.attr("flags").attr("writeable") = false;
  }
  return array;
}

class PythonCollective : public BlockingCollective {
 public:
  /// With the GIL.
  explicit PythonCollective(const py::object& object)
      : object_(keep_alive(object)),
        rank_(object.attr("rank").cast<int>()),
        size_(object.attr("size").cast<int>()),
        has_abort_(py::hasattr(object, "abort")) {
    const py::object text = py::getattr(object, "description", py::none());
    description_ =
        py::isinstance<py::str>(text)
            ? text.cast<std::string>()
            : py::type::of(object).attr("__name__").cast<std::string>();
  }
  ~PythonCollective() override { stop(); }

  std::string description() const override { return description_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void abort() noexcept override {
    if (is_aborted()) return;
    BlockingCollective::abort();
    if (!has_abort_) return;
    try {
      call("abort", [](const py::object& method) { method(); });
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The rank gives up in any case; there is nobody to tell.
    }
  }

  bool ends() { return stop_within(kEndPatience); }

 protected:
  void all_reduce_now(std::span<float> values) override {
    call("all_reduce",
         [&](const py::object& method) { method(view_of(values)); });
  }
  void reduce_scatter_now(std::span<float> values,
                          std::span<float> part) override {
    call("reduce_scatter", [&](const py::object& method) {
      method(view_of(values), view_of(part));
    });
  }
  void all_gather_now(std::span<const std::byte> part,
                      std::span<std::byte> all) override {
    call("all_gather", [&](const py::object& method) {
      method(view_of(part), view_of(all));
    });
  }
  void broadcast_now(std::span<std::byte> bytes, int root) override {
    call("broadcast",
         [&](const py::object& method) { method(view_of(bytes), root); });
  }
  void barrier_now() override {
    call("barrier", [](const py::object& method) { method(); });
  }

 private:
  /// What the method raises is thrown as it is.
  template <class Use>
  void call(const char* name, const Use& use) {
    // Of this call: the object may be gone when a method returns very late.
    const std::shared_ptr<void> object = object_;
    std::exception_ptr error;
    const bool has_called = with_gil([&] {
      try {
        use(py::reinterpret_borrow<py::object>(
                static_cast<PyObject*>(object.get()))
                .attr(name));
      } catch (const py::error_already_set& e) {
        error = std::make_exception_ptr(PythonError(e));
      } catch (...) {
        error = std::current_exception();
      }
    });
    if (error) std::rethrow_exception(error);
    if (has_called) return;
    throw DeviceError(ErrorInfo{.op = name,
                                .node = {},
                                .what = "the interpreter is at its end",
                                .expected = {},
                                .got = {},
                                .hint = {}});
  }

  std::shared_ptr<void> object_;
  int rank_, size_;
  bool has_abort_;
  std::string description_;
};

/// Rather stays for good than waits for good.
void end(PythonCollective* collective) {
  std::optional<WithoutGil> released;
  if (Py_IsInitialized() && PyGILState_Check()) released.emplace();
  if (collective->ends()) delete collective;
}

}  // namespace

std::shared_ptr<Collective> python_collective(const py::object& object) {
  return {new PythonCollective(object), &end};
}

}  // namespace traingraph::python
