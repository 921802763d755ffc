#include "serve/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2::serve {
namespace {

constexpr int kBacklog = 1024;

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    reject("--unix ", path, ": the path of a Unix socket has at most ", sizeof address.sun_path - 1,
           " bytes");
  }
  path.copy(address.sun_path, path.size());
  return address;
}

// Returns whether the path is a socket that refuses connections, because its process has ended.
bool is_left_behind(const std::string& path, const sockaddr_un& address) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_refused =
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  close(client);
  return is_refused;
}

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
  if (!address.unix_socket.empty()) {
    listen_on_path(address.unix_socket);
  } else {
    listen_on_port(address.host, address.port);
  }
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

Listener::~Listener() { close(); }

void Listener::close() {
  if (socket_ < 0) return;
  ::close(std::exchange(socket_, -1));
  if (!path_.empty()) unlink(path_.c_str());
}

void Listener::listen_on_path(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  if (is_left_behind(path, address)) unlink(path.c_str());
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(socket_, generic, sizeof address) != 0 || listen(socket_, kBacklog) != 0) {
    const int reason = errno;
    ::close(socket_);
    reject("cannot listen on ", path, ": ", std::strerror(reason),
           reason == EADDRINUSE ? ": another server uses it, or it is another file" : "");
  }
  path_ = path;
  url_ = "unix:" + path;
}

void Listener::listen_on_port(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* addresses = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &addresses);
  if (failure != 0) {
    reject("--host ", quote(host), ": ", gai_strerror(failure),
           ": give an address of this machine, such as 127.0.0.1 or 0.0.0.0");
  }
  socket_ = bind_one_of(addresses);
  const int reason = errno;
  freeaddrinfo(addresses);
  if (socket_ < 0) {
    reject("cannot listen on ", host, " port ", port, ": ", std::strerror(reason),
           reason == EADDRINUSE ? ": give another --port, or 0 for any that is free" : "");
  }
  url_ = url_of(socket_);
}

}  // namespace gpt2::serve
