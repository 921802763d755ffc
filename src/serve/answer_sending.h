#pragma once

#include <microhttpd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/reply.h"
#include "serve/waker.h"

namespace gpt2::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Returns the function that goes on with a connection that has been suspended, on any thread.
[[nodiscard]] std::function<void()> resume(MHD_Connection* connection, const Waker& waker);

/// Gives libmicrohttpd an answer, with `more` headers. It reads the body from `reply`, and suspends
/// the connection while there is nothing to send.
[[nodiscard]] MHD_Result queue(MHD_Connection* connection, const HttpAnswer& answer,
                               const std::shared_ptr<Reply>& reply, const Headers& more,
                               const Waker& waker);

}  // namespace gpt2::serve
