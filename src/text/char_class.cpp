#include "text/char_class.h"

#include <utf8proc.h>

namespace gpt2 {
namespace {

// U+001C-001F, U+180E, U+200B and U+FEFF are none, whatever isspace functions say.
constexpr bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

// The part of Other_Alphabetic that no category in is_word_char covers: letters in circles and
// squares, which are symbols (So).
constexpr bool is_enclosed_letter(char32_t c) {
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

}  // namespace

CharClass class_of(char32_t code_point) noexcept {
  if (is_white_space(code_point)) return CharClass::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CharClass::number;
    default: return CharClass::other;
  }
}

bool is_word_char(char32_t code_point) noexcept {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default:
      return class_of(code_point) == CharClass::letter || is_enclosed_letter(code_point) ||
             code_point == 0x200c || code_point == 0x200d;
  }
}

}  // namespace gpt2
