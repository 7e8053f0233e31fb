// SPDX-License-Identifier: MIT
#include "python_call.h"

#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {

void call_python(const std::shared_ptr<void>& object, const char* op,
                 const std::function<void(const py::object&)>& use) {
  std::exception_ptr error;
  const bool has_called = with_gil([&] {
    try {
      use(py::reinterpret_borrow<py::object>(
          static_cast<PyObject*>(object.get())));
    } catch (const py::error_already_set& e) {
      error = std::make_exception_ptr(PythonError(e));
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  if (has_called) return;
  throw DeviceError(ErrorInfo{.op = op,
                              .node = {},
                              .what = "the interpreter is at its end",
                              .expected = {},
                              .got = {},
                              .hint = {}});
}

}  // namespace traingraph::python
