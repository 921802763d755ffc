#include "serve/answer_sending.h"

#include <cstddef>
#include <cstdint>

namespace gpt2::serve {
namespace {

constexpr std::size_t kBlock = 16384;  // of a body that is sent

// The body of an answer, for libmicrohttpd.
struct Body {
  MHD_Connection* connection;
  std::shared_ptr<Reply> reply;
  const Waker& waker;

  static ssize_t read(void* context, std::uint64_t, char* buffer, std::size_t max) {
    const Body& body = *static_cast<Body*>(context);
    const auto count = body.reply->read(
        buffer, max, [&body] { MHD_suspend_connection(body.connection); },
        resume(body.connection, body.waker));
    if (count) return static_cast<ssize_t>(*count);
    const bool is_cut = body.reply->is_abandoned();
    return is_cut ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
  }

  static void free(void* context) { delete static_cast<Body*>(context); }
};

void add_headers(MHD_Response* response, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
}

}  // namespace

std::function<void()> resume(MHD_Connection* connection, const Waker& waker) {
  return [connection, &waker] {
    MHD_resume_connection(connection);
    waker.wake();
  };
}

MHD_Result queue(MHD_Connection* connection, const HttpAnswer& answer,
                 const std::shared_ptr<Reply>& reply, const Headers& more, const Waker& waker) {
  std::unique_ptr<Body> body(new Body{connection, reply, waker});
  MHD_Response* const response =
      MHD_create_response_from_callback(reply->is_stream() ? MHD_SIZE_UNKNOWN : reply->held(),
                                        kBlock, Body::read, body.get(), Body::free);
  if (response == nullptr) return MHD_NO;
  static_cast<void>(body.release());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  add_headers(response, answer.headers);
  add_headers(response, more);
  const MHD_Result result =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return result;
}

}  // namespace gpt2::serve
