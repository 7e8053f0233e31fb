// SPDX-License-Identifier: MIT
// What an executable makes of the feeds and targets it was compiled with.
#include <memory>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

std::string order_text(NSArray<MPSGraphTensor*>* got,
                       const std::vector<T>& given) {
  if ([got count] != given.size()) {
    return std::to_string([got count]) + " instead of " +
           std::to_string(given.size());
  }
  std::string order;
  bool is_same = true;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const NSUInteger position = [got indexOfObjectIdenticalTo:given[i]];
    if (position == NSNotFound) return "other tensors than were given";
    is_same = is_same && position == i;
    order += ' ' + std::to_string(position);
  }
  return is_same ? "the order given" : "another order:" + order;
}

std::vector<T> inputs_of(const Lab& lab) {
  std::vector<T> tensors;
  for (const auto& input : lab.inputs()) tensors.push_back(input.get());
  return tensors;
}

/// Ten inputs, used last to first; targets in the order of use.
std::vector<T> add_chain(Lab& lab) {
  for (int i = 0; i < 10; ++i) lab.input({static_cast<float>(i)});
  std::vector<T> sums;
  T sum = lab.constant(0);
  for (int i = 9; i >= 0; --i) {
    sum = [lab.graph() additionWithPrimaryTensor:sum
                                 secondaryTensor:lab.inputs()[i].get()
                                            name:@"sum"];
    sums.push_back(sum);
  }
  return sums;
}

std::string feed_order() {
  Lab lab;
  const auto executable = lab.compile(add_chain(lab));
  return order_text([executable.get() feedTensors], inputs_of(lab));
}

std::string target_order() {
  Lab lab;
  const std::vector<T> sums = add_chain(lab);
  const std::vector<T> wanted = {sums[7], sums[2], sums[9], sums[0], sums[4]};
  const auto executable = lab.compile(wanted);
  return order_text([executable.get() targetTensors], wanted);
}

/// The device gives each feed a buffer and counts on finding it again.
std::string unused_feed() {
  Lab lab;
  lab.input({1});
  T used = lab.input({2});
  const auto executable =
      lab.compile({[lab.graph() squareWithTensor:used name:@"square"]});
  return order_text([executable.get() feedTensors], inputs_of(lab));
}

std::string placeholder_as_target() {
  Lab lab;
  T x = lab.input({3});
  T square = [lab.graph() squareWithTensor:x name:@"square"];
  const auto executable = lab.compile({square, x});
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  const auto results = lab.encode(executable.get(), commands);
  commit_and_wait(commands);
  const NSUInteger position =
      [[executable.get() targetTensors] indexOfObjectIdenticalTo:x];
  if (position == NSNotFound) return "not in targetTensors";
  const Numbers got = numbers_in(results[position].get(), 1);
  return got.front() == 3 ? "copied" : "accepted, but gives " + text(got);
}

std::string constant_as_target() {
  Lab lab;
  T square = [lab.graph() squareWithTensor:lab.input({3}) name:@"square"];
  T five = lab.constant(5);
  const auto executable = lab.compile({square, five});
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  const auto results = lab.encode(executable.get(), commands);
  commit_and_wait(commands);
  const NSUInteger position =
      [[executable.get() targetTensors] indexOfObjectIdenticalTo:five];
  if (position == NSNotFound) return "not in targetTensors";
  const Numbers got = numbers_in(results[position].get(), 1);
  return got.front() == 5 ? "written" : "accepted, but gives " + text(got);
}

std::string target_twice() {
  Lab lab;
  T square = [lab.graph() squareWithTensor:lab.input({3}) name:@"square"];
  const auto executable = lab.compile({square, square});
  return std::to_string([[executable.get() targetTensors] count]) + " results";
}

/// A graph that nobody but the executable may hold.
std::string graph_retained() {
  auto lab = std::make_unique<Lab>();
  T square = [lab->graph() squareWithTensor:lab->input({3}) name:@"square"];
  const NSUInteger before = [lab->graph() retainCount];
  const auto executable = lab->compile({square});
  return [lab->graph() retainCount] > before ? "yes" : "no";
}

std::string runs_without_graph() {
  ObjcPtr<MPSGraphExecutable*> executable;
  @autoreleasepool {
    Lab lab;
    executable = lab.compile({[lab.graph() squareWithTensor:lab.input({3})
                                                       name:@"square"]});
  }
  const auto buffer = make_buffer(sizeof(float));
  static_cast<float*>([buffer.get() contents])[0] = 3;
  const auto data =
      adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:buffer.get()
                                                    shape:list({1})
                                                 dataType:MPSDataTypeFloat32]);
  const auto result = make_buffer(sizeof(float));
  const auto result_data =
      adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:result.get()
                                                    shape:list({1})
                                                 dataType:MPSDataTypeFloat32]);
  MPSCommandBuffer* commands =
      [MPSCommandBuffer commandBufferFromCommandQueue:machine().queue.get()];
  [executable.get()
      encodeToCommandBuffer:commands
                inputsArray:[NSArray arrayWithObject:data.get()]
               resultsArray:[NSArray arrayWithObject:result_data.get()]
        executionDescriptor:nil];
  commit_and_wait(commands);
  return numbers_in(result.get(), 1).front() == 9 ? "yes" : "wrong result";
}

}  // namespace

std::vector<Probe> executable_probes() {
  const Beginnings same_tensors = {"the order given", "another order"};
  return {
      {.name = "feed_order",
       .question = "feedTensors come in (compared with creation)",
       .answer = feed_order,
       .weight = Weight::Reliance,
       .expected = same_tensors,
       .remedy = {.text = "graph_code.mm has to know feeds by their names"}},
      {.name = "target_order",
       .question = "targetTensors come in (compared with the argument)",
       .answer = target_order,
       .weight = Weight::Reliance,
       .expected = same_tensors,
       .remedy = {.text = "graph_code.mm has to know targets by their names"}},
      {.name = "unused_feed",
       .question = "feedTensors, where one of two feeds is not needed",
       .answer = unused_feed,
       .weight = Weight::Reliance,
       .expected = same_tensors,
       .remedy = {.text = "compile_graph.mm has to leave feeds out that no "
                          "target needs"},
       .may_abort = true},
      {.name = "placeholder_as_target",
       .question = "a placeholder as target",
       .answer = placeholder_as_target,
       .weight = Weight::Chance,
       .expected = {"raised", "aborted", "not in targetTensors", "accepted"},
       .remedy = {.text = "compile_graph.mm need not put an identity between"},
       .may_abort = true},
      {.name = "constant_as_target",
       .question = "a constant as target",
       .answer = constant_as_target,
       .weight = Weight::Chance,
       .expected = {"raised", "aborted", "not in targetTensors", "accepted"},
       .remedy = {.text = "compile_graph.mm need not put an identity between"},
       .may_abort = true},
      {.name = "target_twice",
       .question = "one tensor targeted twice gives",
       .answer = target_twice,
       .weight = Weight::Chance,
       .expected = {"raised", "aborted", "1 results"},
       .remedy = {.text = "compile_graph.mm need not put an identity between"},
       .may_abort = true},
      {.name = "graph_retained",
       .question = "an executable retains its graph",
       .answer = graph_retained,
       .expected = {"no"}},
      {.name = "runs_without_graph",
       .question = "an executable runs after its graph was released",
       .answer = runs_without_graph,
       .weight = Weight::Chance,
       .expected = {"raised", "aborted", "wrong"},
       .remedy = {.text = "graph_code.mm may let the MPSGraph go"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
