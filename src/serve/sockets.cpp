#include "serve/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>

namespace gpt2::serve {

std::string address_of(const sockaddr& address) {
  if (address.sa_family == AF_UNIX) return "unix";
  const socklen_t size = address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  char host[NI_MAXHOST] = "";
  getnameinfo(&address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

int unread_bytes(int socket) {
  int bytes = 0;
  return ioctl(socket, FIONREAD, &bytes) == 0 ? bytes : 0;
}

void raise_file_limit(unsigned connections) {
  rlimit limit = {};
  const rlim_t needed = connections + 100;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace gpt2::serve
