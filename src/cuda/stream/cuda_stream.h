// SPDX-License-Identifier: MIT
// The one stream of a card that our work runs on, in order. A run is delivered,
// launched as one graph, and collected:
//
//   deliver -> kernels of the units, a chain -> collect
//
// Products of cuBLASLt are nodes that hold what the library enqueues. Kernels
// are nodes with programmatic edges where the card has them: a kernel
// is launched while its predecessor ends. The chain is a total order, so that
// memory may be reused without asking who reads it.
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cuda/card.h"
#include "cuda/code/cuda_code.h"
#include "cuda/code/kernel_store.h"
#include "cuda/cuda_memory.h"
#include "cuda/stream/letter.h"

namespace traingraph::cuda {

/// A launch with its parameters.
struct BoundLaunch {
  FunctionHandle function = nullptr;
  LaunchShape shape;
  std::vector<std::uint64_t> parameters;
  std::vector<std::uint32_t> starts;  // as in Launch
};

struct BoundProduct {
  ProductRequest request;
  ProductAlgorithm algorithm;
  ProductAddresses at;
};

using BoundStep = std::variant<BoundLaunch, BoundProduct>;

class CudaStream;

/// Steps that were recorded as graphs: one for each size of letters, made when
/// the first one comes.
class RecordedRun {
 public:
  RecordedRun(CudaStream& stream, std::vector<BoundStep> steps);

 private:
  friend CudaStream;

  /// Ends a graph when it goes; one in flight ends after its run.
  struct Graph {
    Graph(const Card& card) : card(card) {}
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    const Card& card;
    GraphHandle handle = nullptr;
    GraphExec exec = nullptr;
    GraphNode first = nullptr;
  };
  const Graph& graph_for(int size_class);
  std::unique_ptr<Graph> record(int size_class) const;

  CudaStream& stream_;
  std::vector<BoundStep> steps_;
  std::array<std::unique_ptr<Graph>, std::size(kLetterSizes)> graphs_;
};

class CudaStream {
 public:
  CudaStream(std::shared_ptr<const Card> card, KernelStore& kernels,
             ProductLibrary& products);

  const Card& card() const { return *card_; }
  const std::shared_ptr<const Card>& shared_card() const { return card_; }
  StreamHandle handle() const { return handle_; }

  // All of these enqueue, and throw Loss or DeviceError.
  void run(RecordedRun& run, const Letter& letter);
  /// Delivers and collects with nothing between.
  void send(const Letter& letter);
  void deliver(const Letter& letter);
  void collect();
  void launch(const BoundStep& step);
  void upload(const Upload& upload);
  void download(const Download& download);
  void copy(const Copy& copy);
  void clear(DeviceAddress at, std::size_t bytes);

  /// Is what was enqueued over? Throws Loss.
  bool is_idle() const;
  void synchronize() const;

 private:
  friend RecordedRun;
  /// What the product enqueues, as a graph that the caller ends.
  void capture(const BoundProduct& product, GraphHandle& graph);

  std::shared_ptr<const Card> card_;
  StreamHandle handle_ = nullptr;
  StreamHandle recording_ = nullptr;  // what the library enqueues is captured
  std::vector<std::shared_ptr<const Kernel>> mailbox_;  // as mailbox_texts()
  ProductLibrary& products_;
  std::mutex recording_mutex_;
  CudaBuffer outbox_;
};

}  // namespace traingraph::cuda
