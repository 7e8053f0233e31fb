// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include "bindings.h"
#include "casters.h"
#include "traingraph/schedule.h"

namespace traingraph::python {
namespace {

const char* name_of_type(ScheduleType type) {
  switch (type) {
    case ScheduleType::Constant:
      return "constant";
    case ScheduleType::Linear:
      return "linear";
    case ScheduleType::Cosine:
      return "cosine";
    case ScheduleType::Exponential:
      return "exponential";
  }
  return "?";
}

using Piece = py::typing::Tuple<py::str, py::int_, py::int_, py::float_,
                                py::float_, py::bool_>;

py::typing::Tuple<Piece, py::ellipsis> pieces_of(const Schedule& self) {
  py::list pieces;
  for (const Schedule::Piece& piece : self.pieces()) {
    pieces.append(py::make_tuple(name_of_type(piece.type), piece.begin,
                                 piece.steps, piece.from, piece.to,
                                 piece.is_staircase));
  }
  return py::tuple(pieces);
}

}  // namespace

void bind_schedules(py::module_& m) {
  BoundClass<Schedule>(
      m, "Schedule",
      "The learning rate as a function of n, the number of updates so far, and "
      "of nothing else: a run which is resumed goes on as it would have. Give "
      "it to optimizer.schedule. Each raises InvalidArgument for rates below 0 "
      "or not finite, and for no steps.")
      .def_static("constant", &Schedule::constant, py::arg("rate"))
      .def_static("linear", &Schedule::linear, py::arg("start"), py::arg("end"),
                  whole("steps"),
                  "start + (end - start) n / steps, from n = steps on end.")
      .def_static("cosine", &Schedule::cosine, py::arg("start"), whole("steps"),
                  py::arg("end") = 0.0,
                  "end + (start - end) (1 + cos(pi n / steps)) / 2, from n = "
                  "steps on end.")
      .def_static("exponential", &Schedule::exponential, py::arg("start"),
                  py::arg("factor"), whole("steps") = 1,
                  py::arg("staircase") = false,
                  "start factor^(n / steps); a staircase has whole powers "
                  "only.")
      .def_static("warm_up", &Schedule::warm_up, py::arg("then"),
                  whole("steps"), py::arg("start") = 0.0,
                  "Linear from start to the first rate of then in so many "
                  "steps, and then that one from its beginning.")
      .def_static("join", &Schedule::join, py::arg("schedules"),
                  py::arg("boundaries"),
                  "The next one from its beginning whenever as many updates as "
                  "a boundary says came before. Boundaries increase, one less "
                  "than schedules.")
      .def("rate", &Schedule::rate, whole("updates"),
           "The rate after so many updates.")
      .def_property_readonly(
          "pieces", &pieces_of,
          "(kind, first update, steps, start, end or factor, staircase) of "
          "each; it holds until the next.")
      .def("__eq__",
           [](const Schedule& self, const py::object& other) {
             return py::isinstance<Schedule>(other) &&
                    self == other.cast<const Schedule&>();
           })
      .def("__hash__",
           [](const Schedule& self) {
             return py::hash(py::str(self.to_string()));
           })
      .def("__repr__", [](const Schedule& self) {
        return "Schedule(" + self.to_string() + ')';
      });
}

}  // namespace traingraph::python
