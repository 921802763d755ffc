#include "text/precompiled.h"

#include <utf8proc.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/utf8.h"

namespace gpt2 {

Precompiled::Precompiled(std::string_view table, std::string_view where) {
  if (table.empty()) return;
  const Bytes bytes = std::as_bytes(std::span(table));
  constexpr std::size_t kUnit = sizeof(std::uint32_t);
  const std::size_t size = table.size() < kUnit ? 0 : load_little_endian<std::uint32_t>(bytes);
  if (size < kUnit || size % kUnit != 0 || size > table.size() - kUnit) {
    fail(where, "precompiled_charsmap has ", table.size(), " bytes, but a trie of ", size);
  }
  units_.reserve(size / kUnit);
  for (std::size_t at = kUnit; at < kUnit + size; at += kUnit) {
    units_.push_back(load_little_endian<std::uint32_t>(bytes, at));
  }
  replacements_ = table.substr(kUnit + size);
}

// The trie is a double array of darts-clone. Each place is checked, because a file may have any.
Precompiled::Match Precompiled::match(std::string_view text, Which which) const noexcept {
  constexpr std::uint32_t kIsValue = std::uint32_t{1} << 31;
  const auto children = [](std::uint32_t unit) -> std::size_t {
    return (unit >> 10) << ((unit & 0x200) >> 6);
  };
  std::size_t value = 0;
  std::size_t length = 0;
  std::size_t node = units_.empty() ? 0 : children(units_[0]);
  text = text.substr(0, kMaxBytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || (units_[node] & (kIsValue | 0xff)) != byte) break;
    const bool has_value = (units_[node] & 0x100) != 0;
    node ^= children(units_[node]);
    if (!has_value || node >= units_.size()) continue;
    value = units_[node] & ~kIsValue;
    length = i + 1;
    if (which == Which::shortest) break;
  }
  if (length == 0 || value >= replacements_.size()) return {{}, length};
  const std::string_view rest = std::string_view(replacements_).substr(value, kMaxBytes);
  return {rest.substr(0, rest.find('\0')), length};
}

std::size_t Precompiled::rewrite(std::string_view text, std::size_t at, std::string& out) const {
  std::size_t length = 0;
  utf8proc_int32_t previous = 0;
  utf8proc_int32_t state = 0;
  while (at + length < text.size()) {
    const Utf8Char next = decode_utf8(text.substr(at + length));
    const auto code_point = static_cast<utf8proc_int32_t>(next.code_point);
    if (length > 0 && utf8proc_grapheme_break_stateful(previous, code_point, &state)) break;
    length += next.length;
    previous = code_point;
  }
  const std::string_view grapheme = text.substr(at, length);
  if (const Match rule = match(grapheme, Which::shortest); length < 6 && rule.length > 0) {
    out += rule.replacement;
    return length;
  }
  for (std::string_view rest = grapheme; !rest.empty();) {
    const std::string_view character = rest.substr(0, decode_utf8(rest).length);
    const Match rule = match(character, Which::shortest);
    out += rule.length > 0 ? rule.replacement : character;
    rest.remove_prefix(character.size());
  }
  return length;
}

namespace {

// What takes the place of the beginning of a text.
Precompiled::Match first_match(const SentencePieceNormalizer& rules, std::string_view text) {
  if (const std::size_t length = rules.user_defined.longest_prefix(text); length > 0) {
    return {text.substr(0, length), length};
  }
  const Precompiled::Match match = rules.precompiled_charsmap.match(text);
  if (match.length > 0) return match;
  if (static_cast<signed char>(text[0]) >= 0) return {text.substr(0, 1), 1};
  const Utf8Char c = decode_utf8(text);
  if (c.kind != Utf8Char::Kind::valid) return {"\xef\xbf\xbd", 1};
  return {text.substr(0, c.length), c.length};
}

}  // namespace

// As Normalizer::Normalize of SentencePiece 0.1.97.
TextView SentencePieceNormalizer::normalize(const TextView& text, bool with_origins,
                                            TextBuffer& buffer) const {
  constexpr std::size_t kMaxSize = std::numeric_limits<std::int32_t>::max();
  const std::string_view space = escape_whitespaces ? "\xe2\x96\x81" : " ";
  std::string& out = buffer.text;
  std::vector<TextRange>& origins = buffer.origins;
  out.clear();
  origins.clear();
  const auto append = [&](std::string_view part, TextRange range) {
    out += part;
    if (with_origins) origins.resize(out.size(), range);
  };
  bool is_after_space = remove_extra_whitespaces;
  for (std::string_view rest = text.text; !rest.empty();) {
    auto [part, length] = first_match(*this, rest);
    const std::size_t at = text.text.size() - rest.size();
    rest.remove_prefix(length);
    while (is_after_space && part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    is_after_space = remove_extra_whitespaces && part.ends_with(' ');
    const TextRange range = text.range(at, at + length);
    const bool has_prefix = out.empty() && add_dummy_prefix && !treat_whitespace_as_suffix;
    if (has_prefix) append(space, {range.begin, range.begin});
    while (!part.empty()) {
      const std::size_t unchanged = std::min(part.find(' '), part.size());
      append(unchanged > 0 ? part.substr(0, unchanged) : space, range);
      part.remove_prefix(std::max<std::size_t>(unchanged, 1));
    }
    if (out.size() > kMaxSize) reject("the normalized text has more than ", kMaxSize, " bytes");
  }
  while (remove_extra_whitespaces && out.ends_with(space)) out.resize(out.size() - space.size());
  if (with_origins) origins.resize(out.size());
  const std::size_t end = origins.empty() ? 0 : origins.back().end;
  const bool has_suffix = !out.empty() && add_dummy_prefix && treat_whitespace_as_suffix;
  if (has_suffix) append(space, {end, end});
  return {out, with_origins ? origins.data() : nullptr, text.begin};
}

}  // namespace gpt2
