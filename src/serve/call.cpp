#include "serve/call.h"

#include <new>
#include <utility>

namespace gpt2::serve {
namespace {

// As a text, because the JSON library needs memory even to free a value.
constexpr const char* kOutOfMemory =
    R"({"error":{"message":"out of memory: try again later","type":"server_error",)"
    R"("param":null,"code":"overloaded"}})";

}  // namespace

bool Call::goes_on() const { return !is_cancelled_ && !reply_->is_abandoned(); }

void Call::send(int status, const Json& body) { send(json_answer(status, body)); }

void Call::send(HttpAnswer answer) {
  prepare_end();
  answer.id = id;
  reply_->send(std::move(answer));
}

void Call::begin_stream() {
  reply_->begin_stream({.content_type = "text/event-stream",
                        .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                        .id = id});
}

void Call::write_event(const Json& event) { reply_->write("data: " + json_text(event) + "\n\n"); }

void Call::end_stream() {
  prepare_end();
  reply_->write("data: [DONE]\n\n");
  reply_->end();
}

void Call::fail(std::exception_ptr error) noexcept {
  try {
    answer_error(std::move(error));
  } catch (...) {
    prepare_end();
    reply_->abandon();
  }
  cancel();
}

void Call::answer_error(std::exception_ptr error) {
  if (reply_->is_abandoned()) return prepare_end();
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    send_error(400, json_text(error_json(caught)));
  } catch (const std::bad_alloc&) {
    send_error(503, kOutOfMemory);
  } catch (const ServerEnds& caught) {
    send_error(503, json_text(error_json(caught.what(), "server_error", "overloaded")));
  } catch (const std::exception& caught) {
    send_error(500, json_text(error_json(caught.what(), "server_error")));
  }
}

void Call::send_error(int status, const std::string& body) {
  if (!reply_->is_stream()) return send({.status = status, .body = body + '\n'});
  prepare_end();
  reply_->write("data: " + body + "\n\n");
  reply_->end();
}

void Call::prepare_end() {
  if (before_end) std::exchange(before_end, nullptr)();
}

}  // namespace gpt2::serve
