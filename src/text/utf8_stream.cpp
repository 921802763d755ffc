#include "base/utf8.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

std::string_view Utf8Stream::write(std::string_view bytes) {
  held_ += bytes;
  out_.clear();
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Char next = decode_utf8(rest);
    if (next.kind == Utf8Char::Kind::truncated) break;
    out_ += next.kind == Utf8Char::Kind::valid ? rest.substr(0, next.length) : kReplacement;
    rest.remove_prefix(next.length);
  }
  held_.erase(0, held_.size() - rest.size());
  return out_;
}

std::string_view Utf8Stream::flush() {
  out_ = held_.empty() ? std::string_view() : kReplacement;
  held_.clear();
  return out_;
}

}  // namespace gpt2
