#pragma once

#include <microhttpd.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fail.h"
#include "serve/reply.h"

namespace gpt2::serve {

/// Returns the IP address of the client, or "" if it is not known.
[[nodiscard]] std::string client_of(MHD_Connection* connection);

/// Returns the value of a header of the request, or "" if it has none.
[[nodiscard]] const char* header_of(MHD_Connection* connection, const char* name);

/// Whether each header's name is a token and its value one line, and whether there is at most one
/// Host. libmicrohttpd takes "Content-Length : 5" for a header of another name, while a proxy may
/// take it for a length, so that a client can slip a request past the proxy. Two Hosts, and a
/// carriage return in a value, may mean different things to the two as well.
[[nodiscard]] bool has_valid_headers(MHD_Connection* connection);

/// Whether the headers say in one way where the body ends. A request with two lengths, or one of
/// HTTP/1.0 in chunks, which 1.0 does not have, may be one request for this server and two for a
/// proxy before it, which lets a client slip a request past the proxy.
[[nodiscard]] bool has_one_length(MHD_Connection* connection, const char* version);

/// Returns the answer to a request whose headers announce a body that is longer than max_body bytes
/// or compressed, or nothing if it may be received.
[[nodiscard]] std::optional<HttpAnswer> refuse_body(MHD_Connection* connection,
                                                    std::size_t max_body);

/// Whether the body of a refused request is received, and thrown away, before the answer is sent.
/// Otherwise the connection is closed while the client still sends, and then most clients report
/// this instead of the answer.
[[nodiscard]] bool takes_refused_body(MHD_Connection* connection, const char* version);

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

  void clear() const {
    eventfd_t count = 0;
    eventfd_read(event_, &count);
  }

  [[nodiscard]] int descriptor() const { return event_; }

 private:
  const int event_;
};

/// Suspends a connection until its answer is ready. When it resumes, libmicrohttpd would read its
/// socket first, find the end of what a client sends that has closed its side, and close the
/// connection. It asks for the answer first if the connection has a timeout of its own.
void suspend(MHD_Connection* connection);

/// Returns the function that goes on with a connection that has been suspended, on any thread.
[[nodiscard]] std::function<void()> resume(MHD_Connection* connection, const Waker& waker);

/// Gives libmicrohttpd an answer, with `more` headers. It reads the body from `reply`, and suspends
/// the connection while there is nothing to send.
[[nodiscard]] MHD_Result queue(MHD_Connection* connection, const HttpAnswer& answer,
                               const std::shared_ptr<Reply>& reply, const Headers& more,
                               const Waker& waker);

}  // namespace gpt2::serve
