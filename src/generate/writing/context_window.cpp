#include "generate/writing/generation.h"

#include <algorithm>
#include <string>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2 {

std::size_t ContextWindow::require_room(std::size_t prompt_tokens,
                                        std::size_t max_new_tokens) const {
  const std::size_t capacity = session_.capacity();
  const std::size_t position = session_.position();
  const std::size_t room = capacity - position;
  const bool can_fill = prompt_tokens > room || max_new_tokens > room - prompt_tokens;
  if (slides_ && can_fill && (capacity < 2 || keep_ > capacity - 2)) {
    reject("a session that slides needs room for two tokens more than it keeps: it has room for ",
           capacity, ", and keep is ", keep_);
  }
  const std::size_t kept = slides_ ? std::min(keep_, position) : position;
  if (prompt_tokens > capacity - kept) {
    const std::string before = kept == 0 ? ""
                                         : concat(", after the ", counted(kept, "token"),
                                                  slides_ ? " that it keeps" : " that it holds");
    reject("the prompt has ", counted(prompt_tokens, "token"), ", but the session has room for ",
           capacity - kept, before,
           ": shorten the prompt, for example by leaving out its beginning");
  }
  return slides_ ? session_.slide_size(keep_, prompt_tokens) : 0;
}

// The last token of a text that fills the context has no room in it.
std::size_t ContextWindow::room_after(std::size_t length) const {
  return slides_ ? SIZE_MAX : session_.capacity() + 1 - length;
}

std::size_t ContextWindow::slide(std::size_t count, SequenceLimits& limits) {
  const std::size_t written = session_.position() - limits.prompt_length;
  session_.set_history({.dropped = session_.dropped(), .written = written});
  const std::size_t dropped = session_.slide(keep_, count);
  limits.prompt_length = session_.position() - session_.history().written;
  limits.dropped += dropped;
  limits.max_length -= dropped;
  return dropped;
}

}  // namespace gpt2
