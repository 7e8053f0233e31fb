// SPDX-License-Identifier: MIT
// LSTM layers: which results there are, peepholes, shapes of gradients.
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

const Numbers kInput = {0.1F, 0.2F, 0.3F, 0.4F};  // i, f, z, o
const Numbers kRecurrent = {-0.1F, 0.5F, 0.25F, -0.3F};
const Numbers kBias = {0.05F, 0.1F, -0.05F, 0.2F};
const Numbers kPeephole = {3, -2, 1, 4};  // large, to be seen
constexpr float kSource = 0.5F, kState = 0.2F, kCell = -0.4F;

struct LstmStep {
  float i, f, z, o, c, h;
};

enum class OutputPeephole { OldCell, NewCell };

LstmStep lstm_step(OutputPeephole cell, bool candidate_peeps,
                   bool has_peephole = true) {
  const auto gate = [=](int q, float peeped) {
    return kInput[q] * kSource + kRecurrent[q] * kState + kBias[q] +
           (has_peephole ? kPeephole[q] * peeped : 0);
  };
  LstmStep step{};
  step.i = sigmoid(gate(0, kCell));
  step.f = sigmoid(gate(1, kCell));
  step.z = std::tanh(gate(2, candidate_peeps ? kCell : 0));
  step.c = step.f * kCell + step.i * step.z;
  step.o = sigmoid(gate(3, cell == OutputPeephole::OldCell ? kCell : step.c));
  step.h = step.o * std::tanh(step.c);
  return step;
}

/// The source of one step, times its weights, as the Metal device passes it.
Numbers gates() {
  Numbers all;
  for (int q = 0; q < 4; ++q) all.push_back(kInput[q] * kSource + kBias[q]);
  return all;
}

/// One step of one unit.
struct Lstm {
  Lab lab;
  ObjcPtr<MPSGraphLSTMDescriptor*> descriptor =
      retain([MPSGraphLSTMDescriptor descriptor]);
  T source = lab.input(gates(), {1, 1, 4});
  T recurrent = lab.input(kRecurrent, {4, 1});
  T state = lab.input({kState}, {1, 1});
  T cell = lab.input({kCell}, {1, 1});
  T peephole = nil;

  NSArray<MPSGraphTensor*>* forward() {
    return [lab.graph() LSTMWithSourceTensor:source
                             recurrentWeight:recurrent
                                 inputWeight:nil
                                        bias:nil
                                   initState:state
                                    initCell:cell
                                        mask:nil
                                    peephole:peephole
                                  descriptor:descriptor.get()
                                        name:@"lstm"];
  }
};

std::string lstm_results(BOOL produces_cell, BOOL trains) {
  Lstm lstm;
  [lstm.descriptor.get() setProduceCell:produces_cell];
  [lstm.descriptor.get() setTraining:trains];
  std::string answer;
  for (MPSGraphTensor* tensor in lstm.forward()) {
    if (!answer.empty()) answer += ", ";
    answer += shape_text(tensor) + ' ' + text(lstm.lab.run(tensor));
  }
  return answer;
}

std::string results_plain() { return lstm_results(NO, NO); }
std::string results_cell() { return lstm_results(YES, NO); }
std::string results_training() { return lstm_results(NO, YES); }

/// What the Metal device asks for.
std::string results_both() {
  Lstm lstm;
  [lstm.descriptor.get() setProduceCell:YES];
  [lstm.descriptor.get() setTraining:YES];
  NSArray<MPSGraphTensor*>* results = lstm.forward();
  if ([results count] != 3) {
    return std::to_string([results count]) + " results";
  }
  const LstmStep step = lstm_step(OutputPeephole::OldCell, true, false);
  std::string answer;
  for (MPSGraphTensor* tensor in results) {
    if (!answer.empty()) answer += ", ";
    answer += explain(lstm.lab.run(tensor),
                      {{"output", {step.h}},
                       {"cell", {step.c}},
                       {"gates", {step.i, step.f, step.z, step.o}}});
  }
  return answer;
}

std::string peephole() {
  Lstm lstm;
  lstm.peephole = lstm.lab.input(kPeephole);
  [lstm.descriptor.get() setProduceCell:YES];
  [lstm.descriptor.get() setTraining:YES];
  const auto output = [](OutputPeephole cell, bool candidate_peeps) {
    return Numbers{lstm_step(cell, candidate_peeps).h};
  };
  return explain(
      lstm.lab.run([lstm.forward() objectAtIndex:0]),
      {{"all gates see the old cell", output(OutputPeephole::OldCell, true)},
       {"the output gate sees the new cell",
        output(OutputPeephole::NewCell, true)},
       {"all but the candidate see the old cell",
        output(OutputPeephole::OldCell, false)},
       {"the output gate sees the new cell, the candidate none",
        output(OutputPeephole::NewCell, false)}});
}

constexpr std::int64_t kSteps = 3, kBatch = 2, kUnits = 5;

/// Two directions.
struct Bidirectional {
  Lab lab;
  ObjcPtr<MPSGraphLSTMDescriptor*> descriptor =
      retain([MPSGraphLSTMDescriptor descriptor]);
  T source = filled({kSteps, kBatch, 8 * kUnits});
  T recurrent = filled({2, 4 * kUnits, kUnits});

  T filled(const Extents& shape) {
    std::size_t count = 1;
    for (std::int64_t extent : shape) {
      count *= static_cast<std::size_t>(extent);
    }
    return lab.input(Numbers(count, 0.1F), shape);
  }

  NSArray<MPSGraphTensor*>* forward(T peephole) {
    [descriptor.get() setBidirectional:YES];
    [descriptor.get() setProduceCell:YES];
    [descriptor.get() setTraining:YES];
    return [lab.graph() LSTMWithSourceTensor:source
                             recurrentWeight:recurrent
                                 inputWeight:nil
                                        bias:nil
                                   initState:nil
                                    initCell:nil
                                        mask:nil
                                    peephole:peephole
                                  descriptor:descriptor.get()
                                        name:@"lstm"];
  }
};

std::string peephole_of_shape(const Extents& shape) {
  Bidirectional lstm;
  T values = lstm.filled(shape);
  lstm.lab.run([lstm.forward(values) objectAtIndex:0]);
  return "accepted";
}

std::string peephole_rank_1() { return peephole_of_shape({8 * kUnits}); }
std::string peephole_rank_2() { return peephole_of_shape({2, 4 * kUnits}); }

std::string shapes_of(NSArray<MPSGraphTensor*>* tensors) {
  std::string answer;
  for (MPSGraphTensor* tensor in tensors) {
    if (!answer.empty()) answer += ", ";
    answer += shape_text(tensor);
  }
  return answer;
}

std::string gradients_of_one() {
  Lstm lstm;
  [lstm.descriptor.get() setProduceCell:YES];
  [lstm.descriptor.get() setTraining:YES];
  NSArray<MPSGraphTensor*>* results = lstm.forward();
  NSArray<MPSGraphTensor*>* gradients = [lstm.lab.graph()
      LSTMGradientsWithSourceTensor:lstm.source
                    recurrentWeight:lstm.recurrent
                     sourceGradient:lstm.lab.input({1}, {1, 1, 1})
                             zState:[results objectAtIndex:2]
                      cellOutputFwd:[results objectAtIndex:1]
                      stateGradient:nil
                       cellGradient:nil
                        inputWeight:nil
                               bias:nil
                          initState:lstm.state
                           initCell:lstm.cell
                               mask:nil
                           peephole:nil
                         descriptor:lstm.descriptor.get()
                               name:@"gradients"];
  for (MPSGraphTensor* tensor in gradients) lstm.lab.run(tensor);
  return shapes_of(gradients);
}

std::string gradients_of_two() {
  Bidirectional lstm;
  NSArray<MPSGraphTensor*>* results = lstm.forward(nil);
  NSArray<MPSGraphTensor*>* gradients = [lstm.lab.graph()
      LSTMGradientsWithSourceTensor:lstm.source
                    recurrentWeight:lstm.recurrent
                     sourceGradient:lstm.filled({kSteps, kBatch, 2 * kUnits})
                             zState:[results objectAtIndex:2]
                      cellOutputFwd:[results objectAtIndex:1]
                      stateGradient:nil
                       cellGradient:nil
                        inputWeight:nil
                               bias:nil
                          initState:nil
                           initCell:nil
                               mask:nil
                           peephole:nil
                         descriptor:lstm.descriptor.get()
                               name:@"gradients"];
  for (MPSGraphTensor* tensor in gradients) lstm.lab.run(tensor);
  return shapes_of(gradients);
}

/// Of a source that is multiplied by its weights already: does it matter which
/// tensor is passed as source? The Metal device passes the gates.
std::string gradients_without_source() {
  const auto run = [](bool passes_gates) {
    Lstm lstm;
    [lstm.descriptor.get() setProduceCell:YES];
    [lstm.descriptor.get() setTraining:YES];
    NSArray<MPSGraphTensor*>* results = lstm.forward();
    T gates = [results objectAtIndex:2];
    NSArray<MPSGraphTensor*>* gradients = [lstm.lab.graph()
        LSTMGradientsWithSourceTensor:passes_gates ? gates : lstm.source
                      recurrentWeight:lstm.recurrent
                       sourceGradient:lstm.lab.input({1}, {1, 1, 1})
                               zState:gates
                        cellOutputFwd:[results objectAtIndex:1]
                        stateGradient:nil
                         cellGradient:nil
                          inputWeight:nil
                                 bias:nil
                            initState:lstm.state
                             initCell:lstm.cell
                                 mask:nil
                             peephole:nil
                           descriptor:lstm.descriptor.get()
                                 name:@"gradients"];
    return lstm.lab.run([gradients objectAtIndex:0]);
  };
  return explain(run(true), {{"the source is not read", run(false)}});
}

}  // namespace

std::vector<Probe> lstm_probes() {
  const auto probe = [](const char* name, const char* question,
                        std::string (*answer)(), Beginnings expected = {}) {
    const bool matters = !expected.empty();
    return Probe{.name = name,
                 .question = question,
                 .answer = answer,
                 .weight = matters ? Weight::Reliance : Weight::Note,
                 .expected = when(kMpsLstmIsReliable, std::move(expected)),
                 .remedy = {.constant = "kMpsLstmIsReliable", .value = "false"},
                 .may_abort = true};
  };
  return {
      probe("lstm_results", "LSTM results for produceCell NO, training NO",
            results_plain),
      probe("lstm_results_cell",
            "LSTM results for produceCell YES, training NO", results_cell),
      probe("lstm_results_training",
            "LSTM results for produceCell NO, training YES", results_training),
      probe("lstm_results_both",
            "LSTM results for produceCell YES, training YES", results_both,
            {"output, cell, "}),
      probe("lstm_peephole", "LSTM with peepholes", peephole,
            {"all gates see the old cell"}),
      probe("lstm_peephole_rank_1",
            "LSTM of two directions with a peephole of shape (8H)",
            peephole_rank_1, {"raised", "aborted"}),
      probe("lstm_peephole_rank_2",
            "LSTM of two directions with a peephole of shape (2, 4H)",
            peephole_rank_2, {"accepted"}),
      probe("lstm_gradients",
            "LSTM gradients (source, R, state, cell) have shapes",
            gradients_of_one, {"(1, 1, 4), (4, 1), (1, 1), (1, 1)"}),
      probe("lstm_gradients_two",
            "LSTM gradients of two directions (source, R) have shapes",
            gradients_of_two, {"(3, 2, 40), (2, 20, 5)"}),
      {.name = "lstm_gradients_source",
       .question = "LSTM gradients without input weights read the source",
       .answer = gradients_without_source,
       .weight = Weight::Reliance,
       .expected =
           when(kRnnGradientsIgnoreTheSource, {"the source is not read"}),
       .remedy = {.constant = "kRnnGradientsIgnoreTheSource", .value = "false"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
