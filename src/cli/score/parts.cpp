#include "cli/score/parts.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/lines/records.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kPart = 4096;                             // tokens
constexpr std::size_t kMaxUncutBytes = std::size_t{256} << 20;  // of a text that cannot be cut

}  // namespace

TextParts::TextParts(const InputFile& file, const std::optional<Tokenizer>& tokenizer,
                     std::size_t vocab_size)
    : file_(file), tokenizer_(tokenizer), vocab_size_(vocab_size) {}

std::span<const TokenId> TextParts::next() {
  begin_ = end_;
  if (begin_ == ids_.size()) encode_some();
  end_ = std::min(begin_ + kPart, ids_.size());
  tokens_ += end_ - begin_;
  return std::span(ids_).subspan(begin_, end_ - begin_);
}

// Sets ids_ to the tokens that come next; to none at the end of the text.
void TextParts::encode_some() {
  ids_.clear();
  begin_ = end_ = 0;
  while (ids_.empty() && !(at_end_ && text_.empty())) {
    if (!at_end_) at_end_ = !read_more(file_.descriptor(), file_.name(), text_);
    if (interrupted()) return;
    const std::size_t part = at_end_ ? text_.size() : cut();
    if (part == 0 && text_.size() > kMaxUncutBytes)
      reject("the text is longer than 256 MiB: split it");
    std::string text = text_.substr(0, part);
    text_.erase(0, part);
    if (bytes_ == 0) skip_byte_order_mark(text);
    encode(text);
  }
}

void TextParts::encode(const std::string& part) {
  if (tokenizer_) {
    const auto note = [this](std::size_t lost, std::size_t) { lost_bytes_ += lost; };
    ids_ = TokenReader{tokenizer_, vocab_size_, note}.read(part);
  } else {
    ids_ = parse_tokens(part, vocab_size_, tokens_);
  }
  bytes_ += part.size();
}

std::size_t TextParts::cut() const {
  if (tokenizer_) return tokenizer_->cut(text_);
  const std::size_t last = text_.find_last_of(" \n,");
  return last == std::string::npos ? 0 : last;
}

std::optional<double> TextParts::estimated_tokens() const {
  const auto size = static_cast<double>(file_.bytes());
  if (size == 0.0 || bytes_ == 0) return std::nullopt;
  if (at_end_ && text_.empty()) return static_cast<double>(tokens_ + ids_.size() - end_);
  return static_cast<double>(tokens_ + ids_.size() - end_) * size / static_cast<double>(bytes_);
}

}  // namespace gpt2::cli
