#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <optional>

#include "serve/reply.h"

namespace gpt2::serve {

/// Returns the value of a header of the request, or "" if it has none.
[[nodiscard]] const char* header_of(MHD_Connection* connection, const char* name);

/// Whether each header's name is a token and its value one line, and whether there is at most one
/// Host. libmicrohttpd takes "Content-Length : 5" for a header of another name, while a proxy may
/// take it for a length, so that a client can slip a request past the proxy. Two Hosts, and a
/// carriage return in a value, may mean different things to the two as well.
[[nodiscard]] bool has_valid_headers(MHD_Connection* connection);

/// Whether the headers say in one way where the body ends. A request with two lengths may be one
/// request for this server and two for a proxy before it, which lets a client slip a request past
/// the proxy.
[[nodiscard]] bool has_one_length(MHD_Connection* connection);

/// Returns the answer to a request whose headers announce a body that is longer than max_body bytes
/// or compressed, or nothing if it may be received.
[[nodiscard]] std::optional<HttpAnswer> refuse_body(MHD_Connection* connection,
                                                    std::size_t max_body);

/// Whether the body of a refused request is received, and thrown away, before the answer is sent.
/// Otherwise the connection is closed while the client still sends, and then most clients report
/// this instead of the answer.
[[nodiscard]] bool takes_refused_body(MHD_Connection* connection);

}  // namespace gpt2::serve
