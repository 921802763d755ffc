#include "serve/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2::serve {
namespace {

constexpr int kBacklog = 1024;

// Returns a socket that is bound to one of the addresses, or -1 with the reason in errno.
int bind_one_of(const addrinfo* addresses) {
  for (const addrinfo* one = addresses; one != nullptr; one = one->ai_next) {
    const int found = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (found < 0) continue;
    const int yes = 1;
    setsockopt(found, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(found, one->ai_addr, one->ai_addrlen) == 0 && listen(found, kBacklog) == 0) {
      return found;
    }
    const int reason = errno;
    close(found);
    errno = reason;
  }
  return -1;
}

// Returns the address of a socket that listens on a port.
std::string url_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  getsockname(socket, generic, &size);
  getnameinfo(generic, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool is_v6 = address.ss_family == AF_INET6;
  return concat("http://", is_v6 ? "[" : "", host, is_v6 ? "]" : "", ":", port);
}

}  // namespace

Listener::Listener(const ListenAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* addresses = nullptr;
  const int failure =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &addresses);
  if (failure != 0) {
    reject("--host ", quote(address.host), ": ", gai_strerror(failure),
           ": give an address of this machine, such as 127.0.0.1 or 0.0.0.0");
  }
  socket_ = bind_one_of(addresses);
  const int reason = errno;
  freeaddrinfo(addresses);
  if (socket_ < 0) {
    reject("cannot listen on ", address.host, " port ", address.port, ": ", std::strerror(reason),
           reason == EADDRINUSE ? ": give another --port, or 0 for any that is free" : "");
  }
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  url_ = url_of(socket_);
}

Listener::~Listener() { close(); }

void Listener::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

}  // namespace gpt2::serve
