// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include "bindings.h"
#include "casters.h"
#include "traingraph/schedule.h"

namespace traingraph::python {
namespace {

constexpr const char* kScheduleDoc = R"pbdoc(
    The learning rate as a function of n, the number of updates so far.

    It depends on nothing else: a run that is resumed goes on as it would have. Its
    functions make one; assign it to Optimizer.schedule.

    Example:
        >>> cosine = tg.optimizers.Schedule.cosine(1e-3, steps=1000)
        >>> optimizer = tg.optimizers.Adam()
        >>> optimizer.schedule = tg.optimizers.Schedule.warm_up(cosine, steps=100)
        >>> optimizer.schedule
        Schedule(linear(0, 0.001, 100) to 100, cosine(0.001, 1000, 0))
)pbdoc";

constexpr const char* kScheduleConstantDoc = R"pbdoc(
    The same rate always.

    Args:
        rate: The rate.

    Raises:
        InvalidArgument: for a rate below 0 or not finite.

    Example:
        >>> tg.optimizers.Schedule.constant(0.5).rate(100)
        0.5
)pbdoc";

constexpr const char* kScheduleLinearDoc = R"pbdoc(
    A straight line: ``start + (end - start) * n / steps``, then ``end``.

    Args:
        start: The rate of the first update.
        end: The rate from n = steps on.
        steps: The number of updates between.

    Raises:
        InvalidArgument: for rates below 0 or not finite, and for no steps.

    Example:
        >>> line = tg.optimizers.Schedule.linear(1.0, 0.0, steps=4)
        >>> [line.rate(n) for n in range(6)]
        [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
)pbdoc";

constexpr const char* kScheduleCosineDoc = R"pbdoc(
    Half a cosine: ``end + (start - end) * (1 + cos(pi * n / steps)) / 2``, then ``end``.

    Args:
        start: The rate of the first update.
        steps: The number of updates until end.
        end: The rate from n = steps on.

    Raises:
        InvalidArgument: for rates below 0 or not finite, and for no steps.

    Example:
        >>> cosine = tg.optimizers.Schedule.cosine(1.0, steps=4)
        >>> [round(cosine.rate(n), 3) for n in range(6)]
        [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
)pbdoc";

constexpr const char* kScheduleExponentialDoc = R"pbdoc(
    Smaller by a factor each so many updates: ``start * factor ^ (n / steps)``.

    Args:
        start: The rate of the first update.
        factor: What the rate is multiplied by in `steps` updates.
        steps: The number of these updates.
        staircase: Is n / steps cut to whole numbers?

    Raises:
        InvalidArgument: for rates below 0 or not finite, and for no steps.

    Example:
        >>> halves = tg.optimizers.Schedule.exponential(1.0, 0.5, 2, staircase=True)
        >>> [halves.rate(n) for n in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
)pbdoc";

constexpr const char* kScheduleWarmUpDoc = R"pbdoc(
    A line from start to the first rate of another schedule, then that from its beginning.

    Args:
        then: The schedule that follows.
        steps: The number of updates before it.
        start: The rate of the first update.

    Raises:
        InvalidArgument: for rates below 0 or not finite, and for no steps.

    Example:
        >>> then = tg.optimizers.Schedule.constant(1.0)
        >>> warm_up = tg.optimizers.Schedule.warm_up(then, steps=4)
        >>> [warm_up.rate(n) for n in range(6)]
        [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
)pbdoc";

constexpr const char* kScheduleJoinDoc = R"pbdoc(
    Schedules after one another, each from its beginning.

    Args:
        schedules: The schedules, in their order.
        boundaries: The numbers of updates that come before the second, the third and so
            on; they increase, one less than schedules.

    Raises:
        InvalidArgument: for boundaries that do not increase, or are too few or many.

    Example:
        >>> one, half = map(tg.optimizers.Schedule.constant, (1.0, 0.5))
        >>> steps = tg.optimizers.Schedule.join([one, half], [2])
        >>> [steps.rate(n) for n in range(4)]
        [1.0, 1.0, 0.5, 0.5]
)pbdoc";

constexpr const char* kScheduleRateDoc = R"pbdoc(
    The rate after so many updates.

    Args:
        updates: The number of updates so far, n.

    Returns:
        The learning rate of the next one.

    Example:
        >>> tg.optimizers.Schedule.linear(1.0, 0.0, steps=10).rate(5)
        0.5
)pbdoc";

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
  BoundClass<Schedule>(m, "Schedule", kScheduleDoc)
      .def_static("constant", &Schedule::constant, py::arg("rate"),
                  kScheduleConstantDoc)
      .def_static("linear", &Schedule::linear, py::arg("start"), py::arg("end"),
                  whole("steps"), kScheduleLinearDoc)
      .def_static("cosine", &Schedule::cosine, py::arg("start"), whole("steps"),
                  py::arg("end") = 0.0, kScheduleCosineDoc)
      .def_static("exponential", &Schedule::exponential, py::arg("start"),
                  py::arg("factor"), whole("steps") = 1,
                  py::arg("staircase") = false, kScheduleExponentialDoc)
      .def_static("warm_up", &Schedule::warm_up, py::arg("then"),
                  whole("steps"), py::arg("start") = 0.0, kScheduleWarmUpDoc)
      .def_static("join", &Schedule::join, py::arg("schedules"),
                  py::arg("boundaries"), kScheduleJoinDoc)
      .def("rate", &Schedule::rate, whole("updates"), kScheduleRateDoc)
      .def_property_readonly(
          "pieces", &pieces_of,
          "(kind, first update, steps, start, end or factor, staircase) of "
          "each part; it holds until the next.")
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
