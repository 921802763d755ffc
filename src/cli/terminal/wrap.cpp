#include "cli/terminal/wrap.h"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <utility>

namespace gpt2::cli {
namespace {

// A character and the number of columns that it takes.
struct Glyph {
  std::string_view bytes;
  std::size_t width;
};

// Returns the first character of the text. A byte that is not UTF-8 counts as a character.
Glyph first_glyph(std::string_view text) {
  std::mbstate_t state = {};
  wchar_t character = 0;
  const std::size_t length = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (length == 0 || length > text.size()) return {text.substr(0, 1), 1};
  return {text.substr(0, length), static_cast<std::size_t>(std::max(0, wcwidth(character)))};
}

}  // namespace

WordWrapper::WordWrapper(std::size_t columns) : columns_(columns) {
  if (columns != 0) std::setlocale(LC_CTYPE, "C.UTF-8");  // for the width of characters
}

std::string WordWrapper::add(std::string_view piece) {
  if (columns_ == 0) return std::string(piece);
  std::string written;
  while (!piece.empty()) {
    const auto [bytes, width] = first_glyph(piece);
    piece.remove_prefix(bytes.size());
    if (bytes == "\n") {
      end_word(written);
      gap_.clear();
      written += '\n';
      column_ = 0;
    } else if (bytes == " ") {
      end_word(written);
      gap_ += ' ';
    } else {
      word_ += bytes;
      width_ += width;
      if (width_ >= columns_) end_word(written);  // fits on no line, so the terminal has to cut it
    }
  }
  return written;
}

std::string WordWrapper::end() {
  std::string written;
  end_word(written);
  return written + std::exchange(gap_, "");
}

void WordWrapper::end_word(std::string& written) {
  if (word_.empty()) return;
  if (column_ != 0 && column_ + gap_.size() + width_ > columns_) {
    written += '\n';
    column_ = 0;
  } else {
    written += gap_;
    column_ += gap_.size();
  }
  written += std::exchange(word_, "");
  gap_.clear();
  column_ = (column_ + std::exchange(width_, 0) - 1) % columns_ + 1;
}

}  // namespace gpt2::cli
