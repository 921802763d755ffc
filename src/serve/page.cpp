#include "serve/page.h"

#include "serve/page_template.h"

namespace gpt2::serve {
namespace {

// The page has its own script and style in it. Pages of gpt2 inspect, which it opens, inherit this
// policy and have theirs, too; therefore the policy names no hashes.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace

HttpAnswer page_answer() {
  HttpAnswer answer = {.content_type = "text/html; charset=utf-8",
                       .headers = {{"Content-Security-Policy", kPolicy},
                                   {"X-Content-Type-Options", "nosniff"},
                                   {"Referrer-Policy", "no-referrer"},
                                   {"Cache-Control", "no-cache"}}};
  for (const std::string_view piece : kPageTemplate) answer.body += piece;
  return answer;
}

}  // namespace gpt2::serve
