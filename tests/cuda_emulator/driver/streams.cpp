// SPDX-License-Identifier: MIT
// Of libcuda: streams and events.
#include "driver/state.h"

namespace traingraph::cuda {
using namespace cuda_emulator;

Result cuStreamCreate(StreamHandle* handle, unsigned flags) {
  EMULATED_CALL();
  if ((flags & ~kStreamNonBlocking) != 0) return Result::InvalidValue;
  auto stream = std::make_shared<Stream>();
  stream->card = call.card();
  *handle = static_cast<StreamHandle>(state().streams.add(std::move(stream)));
  return Result::Success;
}

Result cuStreamQuery(StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->captured) return kCaptureUnsupported;
  return stream->is_idle() ? Result::Success : Result::NotReady;
}

Result cuStreamSynchronize(StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->captured) return kCaptureUnsupported;
  return call.wait_for(stream->last);
}

Result cuStreamWaitEvent(StreamHandle handle, EventHandle waited_for,
                         unsigned flags) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  const auto event = state().events.find(waited_for);
  if (stream == nullptr || event == nullptr) return kInvalidHandle;
  if (flags != 0) return Result::InvalidValue;
  if (stream->captured) return kCaptureUnsupported;
  if (event->recorded) submit(stream, {.run = {}, .after = event->recorded});
  return Result::Success;
}

Result cuStreamBeginCapture_v2(StreamHandle handle, int mode) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (mode < 0 || mode > 2 || stream->captured) return Result::InvalidValue;
  stream->captured = std::make_shared<Graph>();
  stream->last_captured = -1;
  return Result::Success;
}

Result cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!stream->captured) return Result::InvalidValue;
  *graph = static_cast<GraphHandle>(
      state().graphs.add(std::exchange(stream->captured, nullptr)));
  return Result::Success;
}

Result cuEventCreate(EventHandle* handle, unsigned flags) {
  EMULATED_CALL();
  auto event = std::make_shared<Event>();
  event->has_time = (flags & kEventDisableTiming) == 0;
  *handle = static_cast<EventHandle>(state().events.add(std::move(event)));
  return Result::Success;
}

Result cuEventRecord(EventHandle handle, StreamHandle of) {
  EMULATED_CALL();
  const auto event = state().events.find(handle);
  const auto stream = state().streams.find(of);
  if (event == nullptr || stream == nullptr) return kInvalidHandle;
  if (stream->captured) return kCaptureUnsupported;
  Task task;
  event->recorded = task.over;
  submit(stream, std::move(task));
  return Result::Success;
}

Result cuEventQuery(EventHandle handle) {
  EMULATED_CALL();
  const auto event = state().events.find(handle);
  if (event == nullptr) return kInvalidHandle;
  const bool is_over = event->recorded == nullptr || event->recorded->is_over;
  return is_over ? Result::Success : Result::NotReady;
}

Result cuEventSynchronize(EventHandle handle) {
  EMULATED_CALL();
  const auto event = state().events.find(handle);
  if (event == nullptr) return kInvalidHandle;
  return call.wait_for(event->recorded);
}

Result cuEventElapsedTime(float* milliseconds, EventHandle begin,
                          EventHandle end) {
  EMULATED_CALL();
  const auto first = state().events.find(begin);
  const auto last = state().events.find(end);
  for (const auto& event : {first, last}) {
    if (event == nullptr || !event->has_time || !event->recorded) {
      return kInvalidHandle;
    }
    if (!event->recorded->is_over) return Result::NotReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(last->recorded->at -
                                                           first->recorded->at)
                      .count();
  return Result::Success;
}

Result cuEventDestroy_v2(EventHandle handle) {
  EMULATED_CALL();
  return state().events.remove(handle) ? Result::Success : kInvalidHandle;
}

}  // namespace traingraph::cuda
