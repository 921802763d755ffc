#pragma once

#include <sys/socket.h>

#include <string>

namespace gpt2::serve {

/// Returns the IP address as a text, or "unix" for that of a Unix socket.
[[nodiscard]] std::string address_of(const sockaddr& address);

/// Returns how many bytes have arrived and have not been read.
[[nodiscard]] int unread_bytes(int socket);

/// Raises the limit of open files of the process, as far as it may, to what so many connections
/// need.
void raise_file_limit(unsigned connections);

}  // namespace gpt2::serve
