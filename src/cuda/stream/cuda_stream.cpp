// SPDX-License-Identifier: MIT
#include "cuda/stream/cuda_stream.h"

#include <algorithm>
#include <iterator>

namespace traingraph::cuda {
namespace {

constexpr std::size_t kNumLetterSizes = std::size(kLetterSizes);
constexpr unsigned kMailboxThreads = 256;

/// Of the launch's parameters, for the driver.
std::vector<void*> addresses_of(const BoundLaunch& launch) {
  std::vector<void*> addresses;
  for (const std::uint32_t start : launch.starts) {
    addresses.push_back(const_cast<std::uint64_t*>(&launch.parameters[start]));
  }
  return addresses;
}

KernelNodeParams node_params(const BoundLaunch& launch, void** parameters) {
  return {.function = launch.function,
          .grid_x = launch.shape.blocks,
          .block_x = launch.shape.threads,
          .shared_bytes = launch.shape.shared_bytes,
          .parameters = parameters};
}

/// Adds nodes to a graph, one behind the other.
class Chain {
 public:
  Chain(const Card& card, GraphHandle graph) : card_(card), graph_(graph) {}

  GraphNode add(const KernelNodeParams& params) {
    GraphNode node = nullptr;
    card_.check(card_.driver().graph_add_kernel_node(&node, graph_, nullptr, 0,
                                                     &params),
                "cuGraphAddKernelNode");
    connect(node, /*is_kernel=*/true);
    return node;
  }
  /// All of another graph, which is copied.
  void add(GraphHandle child) {
    GraphNode node = nullptr;
    card_.check(
        card_.driver().graph_add_child_node(&node, graph_, nullptr, 0, child),
        "cuGraphAddChildGraphNode");
    connect(node, /*is_kernel=*/false);
  }

 private:
  /// A kernel of ours is launched early behind another of ours.
  void connect(GraphNode node, bool is_kernel) {
    if (last_ != nullptr) {
      EdgeData edge;
      if (is_kernel && last_is_kernel_ &&
          card_.limits().has_programmatic_launch()) {
        edge.from_port = edge.type = 1;
      }
      card_.check(card_.driver().graph_add_dependencies(graph_, &last_, &node,
                                                        &edge, 1),
                  "cuGraphAddDependencies");
    }
    last_ = node;
    last_is_kernel_ = is_kernel;
  }

  const Card& card_;
  GraphHandle graph_;
  GraphNode last_ = nullptr;
  bool last_is_kernel_ = false;
};

}  // namespace

RecordedRun::RecordedRun(CudaStream& stream, std::vector<BoundStep> steps)
    : stream_(stream), steps_(std::move(steps)) {
  graph_for(/*size_class=*/0);
}

RecordedRun::Graph::~Graph() {
  if (!card.try_make_current()) return;
  if (exec != nullptr) card.driver().graph_exec_destroy(exec);
  if (handle != nullptr) card.driver().graph_destroy(handle);
}

const RecordedRun::Graph& RecordedRun::graph_for(int size_class) {
  auto& graph = graphs_[size_class];
  if (!graph) graph = record(size_class);
  return *graph;
}

std::unique_ptr<RecordedRun::Graph> RecordedRun::record(int size_class) const {
  const Card& card = stream_.card();
  const Driver& driver = card.driver();
  card.make_current();
  auto graph = std::make_unique<Graph>(card);
  card.check(driver.graph_create(&graph->handle, 0), "cuGraphCreate");
  Chain chain(card, graph->handle);

  const Letter empty;
  DeviceAddress outbox = stream_.outbox_.address();
  void* delivered[] = {const_cast<std::byte*>(empty.data()), &outbox};
  void* collected[] = {&outbox};
  const auto mailbox = [&](std::size_t kernel, void** parameters) {
    return KernelNodeParams{.function = stream_.mailbox_[kernel]->function,
                            .block_x = kMailboxThreads,
                            .parameters = parameters};
  };
  graph->first = chain.add(mailbox(size_class, delivered));
  for (const BoundStep& step : steps_) {
    if (const auto* const product = std::get_if<BoundProduct>(&step)) {
      Graph child(card);
      stream_.capture(*product, child.handle);
      chain.add(child.handle);
      continue;
    }
    const auto& launch = std::get<BoundLaunch>(step);
    std::vector<void*> parameters = addresses_of(launch);
    chain.add(node_params(launch, parameters.data()));
  }
  chain.add(mailbox(kNumLetterSizes, collected));
  card.check(driver.graph_instantiate(&graph->exec, graph->handle, 0),
             "cuGraphInstantiate");
  card.check(driver.graph_upload(graph->exec, stream_.handle()),
             "cuGraphUpload");
  return graph;
}

CudaStream::CudaStream(std::shared_ptr<const Card> card, KernelStore& kernels,
                       ProductLibrary& products)
    : card_(std::move(card)),
      mailbox_(kernels.find(mailbox_texts())),
      products_(products),
      outbox_(card_, kOutboxBytes, "outbox") {
  for (StreamHandle* const each : {&handle_, &recording_}) {
    card_->check(card_->driver().stream_create(each, kStreamNonBlocking),
                 "cuStreamCreate");
  }
}

void CudaStream::capture(const BoundProduct& product, GraphHandle& graph) {
  std::scoped_lock lock(recording_mutex_);
  card_->check(
      card_->driver().stream_begin_capture(recording_, kCaptureModeThreadLocal),
      "cuStreamBeginCapture");
  std::exception_ptr error;
  try {
    products_.multiply(product.request, product.algorithm, product.at,
                       recording_);
  } catch (...) {
    error = std::current_exception();
  }
  const Result result = card_->driver().stream_end_capture(recording_, &graph);
  if (error) std::rethrow_exception(error);
  card_->check(result, "cuStreamEndCapture");
}

void CudaStream::run(RecordedRun& run, const Letter& letter) {
  const int size_class = letter.size_class();
  const RecordedRun::Graph& graph = run.graph_for(size_class);
  DeviceAddress outbox = outbox_.address();
  void* parameters[] = {const_cast<std::byte*>(letter.data()), &outbox};
  const KernelNodeParams first{.function = mailbox_[size_class]->function,
                               .block_x = kMailboxThreads,
                               .parameters = parameters};
  card_->check(card_->driver().graph_exec_kernel_set_params(
                   graph.exec, graph.first, &first),
               "cuGraphExecKernelNodeSetParams");
  card_->check(card_->driver().graph_launch(graph.exec, handle_),
               "cuGraphLaunch");
}

void CudaStream::send(const Letter& letter) {
  deliver(letter);
  collect();
}

void CudaStream::deliver(const Letter& letter) {
  DeviceAddress outbox = outbox_.address();
  void* parameters[] = {const_cast<std::byte*>(letter.data()), &outbox};
  card_->check(card_->driver().launch_kernel(
                   mailbox_[letter.size_class()]->function, 1, 1, 1,
                   kMailboxThreads, 1, 1, 0, handle_, parameters, nullptr),
               "cuLaunchKernel");
}

void CudaStream::collect() {
  DeviceAddress outbox = outbox_.address();
  void* parameters[] = {&outbox};
  card_->check(card_->driver().launch_kernel(
                   mailbox_[kNumLetterSizes]->function, 1, 1, 1,
                   kMailboxThreads, 1, 1, 0, handle_, parameters, nullptr),
               "cuLaunchKernel");
}

void CudaStream::launch(const BoundStep& step) {
  if (const auto* const product = std::get_if<BoundProduct>(&step)) {
    return products_.multiply(product->request, product->algorithm, product->at,
                              handle_);
  }
  const auto& launch = std::get<BoundLaunch>(step);
  std::vector<void*> parameters = addresses_of(launch);
  card_->check(
      card_->driver().launch_kernel(
          launch.function, launch.shape.blocks, 1, 1, launch.shape.threads, 1,
          1, launch.shape.shared_bytes, handle_, parameters.data(), nullptr),
      "cuLaunchKernel");
}

void CudaStream::upload(const Upload& upload) {
  card_->check(
      card_->driver().copy_to_device_async(
          address_of(upload.to), upload.from.data(), upload.bytes, handle_),
      "cuMemcpyHtoDAsync");
}

void CudaStream::download(const Download& download) {
  card_->check(card_->driver().copy_to_host_async(download.to.data(),
                                                  address_of(download.from),
                                                  download.bytes, handle_),
               "cuMemcpyDtoHAsync");
}

void CudaStream::copy(const Copy& copy) {
  card_->check(
      card_->driver().copy_on_device_async(
          address_of(copy.to), address_of(copy.from), copy.bytes, handle_),
      "cuMemcpyDtoDAsync");
}

void CudaStream::clear(DeviceAddress at, std::size_t bytes) {
  card_->check(card_->driver().memset_async(at, 0, bytes, handle_),
               "cuMemsetD8Async");
}

bool CudaStream::is_idle() const {
  const Result result = card_->driver().stream_query(handle_);
  if (result == Result::NotReady) return false;
  card_->check(result, "cuStreamQuery");
  return true;
}

void CudaStream::synchronize() const {
  card_->check(card_->driver().stream_synchronize(handle_),
               "cuStreamSynchronize");
}

}  // namespace traingraph::cuda
