// SPDX-License-Identifier: MIT
#include "c/status.h"

#include <new>

#include "traingraph/checkpoint.h"
#include "traingraph/version.h"

namespace traingraph::c {
namespace {

std::string& last_text() {
  thread_local std::string text;
  return text;
}

tg_status status_of(const Error& error) {
  if (dynamic_cast<const InvalidArgument*>(&error)) return TG_INVALID_ARGUMENT;
  if (dynamic_cast<const ShapeError*>(&error)) return TG_SHAPE_ERROR;
  if (dynamic_cast<const DTypeError*>(&error)) return TG_DTYPE_ERROR;
  if (dynamic_cast<const UnsupportedError*>(&error)) return TG_UNSUPPORTED;
  if (dynamic_cast<const StateError*>(&error)) return TG_STATE_ERROR;
  if (dynamic_cast<const OutOfMemoryError*>(&error)) return TG_OUT_OF_MEMORY;
  if (dynamic_cast<const DeviceLostError*>(&error)) return TG_DEVICE_LOST;
  if (dynamic_cast<const DeviceError*>(&error)) return TG_DEVICE_ERROR;
  if (dynamic_cast<const FileError*>(&error)) return TG_FILE_ERROR;
  if (dynamic_cast<const CancelledError*>(&error)) return TG_CANCELLED;
  return TG_INTERNAL_ERROR;
}

}  // namespace

Failure failure_of(const std::exception_ptr& error) noexcept {
  try {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      return {status_of(e), e.what()};
    } catch (const std::bad_alloc&) {
      return {TG_OUT_OF_MEMORY, "there is no memory"};
    } catch (const std::exception& e) {
      return {TG_INTERNAL_ERROR, e.what()};
    } catch (...) {
      return {TG_INTERNAL_ERROR, "an unknown error"};
    }
  } catch (...) {  // no memory for the text
    return {TG_OUT_OF_MEMORY, {}};
  }
}

tg_status remember(Failure failure) noexcept {
  last_text() = std::move(failure.text);
  return failure.status;
}

}  // namespace traingraph::c

const char* tg_version(void) { return TRAINGRAPH_VERSION; }

const char* tg_error_text(void) { return traingraph::c::last_text().c_str(); }
