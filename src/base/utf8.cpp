#include "base/utf8.h"

namespace gpt2 {
namespace {

struct Lead {
  std::size_t length;          // of the sequence; 0: no sequence begins with this byte
  unsigned char second_first;  // what the second byte may be: this excludes overlong forms,
  unsigned char second_last;   // surrogates and code points past the last
};

// RFC 3629, section 4.
constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const Lead lead = lead_of(byte_at(i));
    if (lead.length == 0 || lead.length > text.size() - i) return i;
    if (lead.length > 1 &&
        (byte_at(i + 1) < lead.second_first || byte_at(i + 1) > lead.second_last)) {
      return i;
    }
    for (std::size_t k = 2; k < lead.length; ++k) {
      if ((byte_at(i + k) & 0xc0) != 0x80) return i;
    }
    i += lead.length;
  }
  return i;
}

}  // namespace gpt2
