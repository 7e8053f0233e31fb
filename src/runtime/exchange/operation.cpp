// SPDX-License-Identifier: MIT
#include "runtime/exchange/operation.h"

#include <type_traits>

#include "runtime/device/device_wait.h"

namespace traingraph {

/// Those that no operation has. Never destroyed: transports may call late.
struct Operation::Tickets {
  std::mutex mutex;
  Ticket* first = nullptr;

  static Tickets& get() {
    static auto* const tickets = new Tickets;
    return *tickets;
  }
};

Operation::Operation() {
  Tickets& free = Tickets::get();
  const std::scoped_lock lock(free.mutex);
  ticket_ = free.first ? free.first : new Ticket;
  free.first = ticket_->next;
}

Operation::~Operation() {
  Tickets& free = Tickets::get();
  const std::scoped_lock lock(free.mutex);
  ticket_->next = std::exchange(free.first, ticket_);
}

Operation::Ending Operation::open_ticket() {
  static_assert(std::is_trivially_copyable_v<Ending> &&
                sizeof(Ending) <= 2 * sizeof(void*));
  const std::scoped_lock lock(ticket_->mutex);
  ticket_->operation = shared_from_this();
  return {ticket_, ++ticket_->number};
}

void Operation::Ending::operator()(std::exception_ptr error) const noexcept {
  std::shared_ptr<Operation> operation;  // dropped last, without the lock
  {
    const std::scoped_lock lock(ticket->mutex);
    if (ticket->number == number) operation.swap(ticket->operation);
  }
  if (operation) operation->end(std::move(error));
}

void Operation::end(std::exception_ptr error) noexcept {
  std::shared_ptr<const void> memory;
  {
    const std::scoped_lock lock(mutex_);
    memory.swap(memory_);
  }
  memory.reset();  // who waits may then count on it
  const std::scoped_lock lock(mutex_);
  error_ = std::move(error);
  ended_ = Clock::now();
  is_over_ = true;
  changed_.notify_all();
}

bool Operation::wait(const std::function<bool()>& is_aborted) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterruptInterval,
                            [this] { return is_over_; })) {
    lock.unlock();  // it may wait for a host language
    if (is_aborted()) return false;
    lock.lock();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

}  // namespace traingraph
