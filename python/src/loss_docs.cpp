// SPDX-License-Identifier: MIT
// Docstrings of the losses of one type: what several say alike stands once.
#include "loss_docs.h"

#include <algorithm>

namespace traingraph::python {
namespace {

constexpr std::string_view kOfElements = R"pbdoc(
    Prediction y and labels t are (N, ...), labels also with axes of size 1 behind the
    first more or fewer, or of a shape that broadcasts. "mean" divides by the number of
    elements of the prediction.
)pbdoc";

constexpr std::string_view kOfClasses = R"pbdoc(
    Prediction y is (N, K) or (N, K, ...), for K classes along axis 1. Labels t are shares
    of the classes of the same shape, or indices of classes, int32 or int64, (N) or
    (N, ...), which are ignored where they are ignore_index. There is one loss for each
    (N, ...). "mean" divides by their number; for indices by the sum of the class weights
    (1 without) of the labels that are not ignored, which makes NaN when all are.
)pbdoc";

constexpr std::string_view kOfVectors = R"pbdoc(
    Prediction y and labels t are (N, ...); there is one loss for each sample. "mean"
    divides by N.
)pbdoc";

constexpr std::string_view kLossRaises = R"pbdoc(
    Raises:
        InvalidArgument: for options out of range.
        ShapeError: from node() and compile(), for labels or weights that do not fit.
)pbdoc";

constexpr std::string_view kScores =
    "scores = g.node(tg.layers.FullyConnected(3), x)";

/// A loss; what it is; its sources and what "mean" divides by; arguments and
/// the network of the example.
struct LossDoc {
  std::string_view name, summary, sources;
  std::string_view arguments = "", network = kScores, labels = "(64, 3)";
};

constexpr LossDoc kLossDocs[] = {
    {.name = "MeanAbsoluteError",
     .summary = R"pbdoc(
    The distance of prediction and label: ``|y - t|``.

    The L1 loss.
)pbdoc",
     .sources = kOfElements},
    {.name = "MeanSquaredError",
     .summary = R"pbdoc(
    The squared distance of prediction and label: ``(y - t)^2``.

    The L2 loss.
)pbdoc",
     .sources = kOfElements},
    {.name = "SoftmaxCrossEntropy",
     .summary = R"pbdoc(
    How far scores are from the class: ``-sum over classes of t * ln softmax(y)``.

    The softmax is part of it: give it scores as they come from the last layer. With label
    smoothing s, t becomes t * (1 - s) + s / K.
)pbdoc",
     .sources = kOfClasses,
     .arguments = "label_smoothing=0.1"},
    {.name = "SigmoidCrossEntropy",
     .summary = R"pbdoc(
    Yes or no for each element: ``max(y, 0) - y * t + ln(1 + exp(-|y|))``.

    The cross-entropy of sigmoid(y) and t, for scores y and labels from 0 to 1. With label
    smoothing s, t becomes t * (1 - s) + s / 2.
)pbdoc",
     .sources = kOfElements},
    {.name = "CategoricalCrossEntropy",
     .summary = R"pbdoc(
    How far probabilities are from the class: ``-sum over classes of t * ln y``.

    For probabilities y, as Softmax makes them; SoftmaxCrossEntropy of the scores is more
    exact. With label smoothing s, t becomes t * (1 - s) + s / K.
)pbdoc",
     .sources = kOfClasses,
     .network =
         "y = g.sequence(x, tg.layers.FullyConnected(3), tg.layers.Softmax())"},
    {.name = "Hinge",
     .summary = R"pbdoc(
    The margin of a score: ``max(0, 1 - (2 * t - 1) * y)``.

    For labels 0 and 1.
)pbdoc",
     .sources = kOfElements},
    {.name = "Huber",
     .summary = R"pbdoc(
    Squares for small errors, distances for large ones.

    With e = y - t: ``e^2 / 2`` where |e| <= delta, else ``delta * (|e| - delta / 2)``.
)pbdoc",
     .sources = kOfElements,
     .arguments = "delta=0.5"},
    {.name = "CosineDistance",
     .summary = R"pbdoc(
    The angle of two vectors: ``1 - sum of y * t``.

    For unit vectors.
)pbdoc",
     .sources = kOfVectors},
    {.name = "Log",
     .summary = R"pbdoc(
    Binary cross-entropy: ``-t * ln(y + epsilon) - (1 - t) * ln(1 - y + epsilon)``.

    For probabilities y, as Sigmoid makes them; SigmoidCrossEntropy of the scores is more
    exact.
)pbdoc",
     .sources = kOfElements,
     .network =
         "y = g.sequence(x, tg.layers.FullyConnected(1), tg.layers.Sigmoid())",
     .labels = "(64, 1)"},
    {.name = "KullbackLeiblerDivergence",
     .summary = R"pbdoc(
    How far a distribution is from another: ``t * (ln t - y)``, 0 where t is 0.

    For logarithms of probabilities y, as Softmax("log_softmax") makes them.
)pbdoc",
     .sources = kOfElements,
     .arguments = "\"sum\"",
     .network = "y = g.sequence(x, tg.layers.FullyConnected(3), "
                "tg.layers.Softmax(\"log_softmax\"))"},
};

}  // namespace

std::string loss_documentation(std::string_view name) {
  const LossDoc& doc =
      *std::ranges::find(kLossDocs, name, [](const auto& d) { return d.name; });
  std::string text(doc.summary);
  const auto add = [&](auto... parts) { (text.append(parts), ...); };
  const auto line = [&](auto... parts) { add("\n        >>> ", parts...); };
  add(doc.sources, kLossRaises, "\n    Example:");
  line("x, label = tg.Tensor((64, 16), name=\"x\"), tg.Tensor(", doc.labels,
       ", name=\"label\")");
  line("g = tg.Graph()");
  line(doc.network);
  line("loss = tg.losses.", name, "(", doc.arguments, ")");
  line("t = tg.TrainingGraph([g], loss, tg.optimizers.Adam(1e-3))");
  line("t.add_inputs({\"x\": x}, loss_labels={\"label\": label})");
  line("t.compile(\"cpu\")");
  return text + "\n";
}

}  // namespace traingraph::python
