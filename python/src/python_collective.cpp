// SPDX-License-Identifier: MIT
// A collective whose operations are methods of a Python object, called on the
// collective's thread. It takes the GIL for the call and no lock besides.
#include <chrono>
#include <optional>

#include "collective.h"
#include "lifetime.h"
#include "python_call.h"

namespace traingraph::python {
namespace {

/// A method that does not return must not keep what drops the collective.
constexpr auto kEndPatience = std::chrono::seconds(10);

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

 private:
  template <class Use>
  void call(const char* name, const Use& use) {
    // Of its own: a method may drop the collective.
    const std::shared_ptr<void> object = object_;
    call_python(object, name,
                [&](const py::object& self) { use(self.attr(name)); });
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
