#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fail.h"

namespace gpt2::serve {

/// Wakes the thread that serves, from any thread, when a connection has been resumed. libmicrohttpd
/// has a channel of its own for this (MHD_USE_ITC), but not if the caller runs its loop.
class Waker {
 public:
  Waker() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_ < 0) reject("no eventfd: ", std::strerror(errno));
  }
  ~Waker() { ::close(event_); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() const { eventfd_write(event_, 1); }

  // Forgets that wake() has been called.
  void clear() const {
    eventfd_t count = 0;
    eventfd_read(event_, &count);
  }

  [[nodiscard]] int descriptor() const { return event_; }

 private:
  const int event_;
};

}  // namespace gpt2::serve
