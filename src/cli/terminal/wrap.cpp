#include "cli/terminal/wrap.h"

#include <utility>

#include "cli/system/terminal.h"

namespace gpt2::cli {

WordWrapper::WordWrapper(std::size_t columns) : columns_(columns) {
  if (columns != 0) prepare_widths();
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
