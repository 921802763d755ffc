#include "text/char_class.h"

#include <utf8proc.h>

#include <string_view>

namespace gpt2 {
namespace {

// Two letters, such as "Lu".
std::string_view category_of(char32_t code_point) noexcept {
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(code_point));
}

// The part of Other_Alphabetic that no category in is_word_char covers: letters in circles and
// squares, which are symbols (So).
constexpr bool is_enclosed_letter(char32_t c) {
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

}  // namespace

CharClass class_of(char32_t code_point) noexcept {
  switch (category_of(code_point)[0]) {
    case 'L': return CharClass::letter;
    case 'N': return CharClass::number;
    case 'Z': return CharClass::space;
  }
  const bool is_space_control = (code_point >= '\t' && code_point <= '\r') || code_point == 0x85;
  return is_space_control ? CharClass::space : CharClass::other;
}

bool is_word_char(char32_t code_point) noexcept {
  const std::string_view category = category_of(code_point);
  return category[0] == 'L' || category[0] == 'M' || category == "Nd" || category == "Nl" ||
         category == "Pc" || is_enclosed_letter(code_point) || code_point == 0x200c ||
         code_point == 0x200d;
}

}  // namespace gpt2
