#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include <utf8proc.h>

#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

// Returns a step that calls f(code point, its bytes, out) for each character. Bytes that are not
// UTF-8 stay as they are.
template <class F>
Rewrite each_character(F f) {
  return [f](std::string_view text, std::size_t at, std::string& out) -> std::size_t {
    const Utf8Char c = decode_utf8(text.substr(at));
    const std::string_view bytes = text.substr(at, c.length);
    if (c.kind == Utf8Char::Kind::valid) {
      f(c.code_point, bytes, out);
    } else {
      out += bytes;
    }
    return c.length;
  };
}

// The blocks that BERT takes for Chinese, without the kana and Hangul. HuggingFace's table lacks
// U+2B820 to U+2B91F.
constexpr bool is_chinese(char32_t c) {
  return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0x2f800 && c <= 0x2fa1f);
}

// Drops control characters and the like, and makes every white-space character a space.
void clean(char32_t c, std::string_view bytes, std::string& out) {
  if (c > ' ' && c < 0x7f) return void(out += bytes);
  const std::string_view category = category_of(c);
  const bool is_control = category[0] == 'C' && category != "Cn";
  const bool is_break = c == '\t' || c == '\n' || c == '\r';
  if (is_break || (!is_control && class_of(c) == CharClass::space)) {
    out += ' ';
  } else if (!is_control && c != 0xfffd) {
    out += bytes;
  }
}

void lower(char32_t c, std::string_view, std::string& out) {
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  if (c == 0x130) append_utf8(out, 0x307);  // the dot of the only capital that becomes two
}

utf8proc_propval_t combining_class(utf8proc_int32_t c) {
  return utf8proc_get_property(c)->combining_class;
}

// Returns whether a character that decomposes into `first` and so on never changes, and is never
// changed by, what precedes it. Characters that compose with what precedes them are marks, the
// vowels and finals of Hangul, and the vowels of Kirat Rai.
bool begins_segment(utf8proc_int32_t first) {
  return first < 0x300 ||
         (combining_class(first) == 0 && category_of(static_cast<char32_t>(first))[0] != 'M' &&
          !(first >= 0x1160 && first <= 0x11ff) && !(first >= 0x16d63 && first <= 0x16d6a));
}

// Sorts the marks of every character by their classes, which takes O(n log n) time for any input,
// unlike utf8proc's own function.
void sort_marks(std::vector<utf8proc_int32_t>& points) {
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto end = points.begin(); end != points.end();) {
    const auto begin = std::find_if(end, points.end(), is_mark);
    end = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, end,
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
  }
}

// Returns a step that brings a text to one of Unicode's normal forms, segment by segment.
Rewrite normal_form(int options) {
  const auto flags = static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE);
  return [flags](std::string_view text, std::size_t at, std::string& out) -> std::size_t {
    const auto is_ascii = [&](std::size_t i) {
      return i >= text.size() || static_cast<unsigned char>(text[i]) < 0x80;
    };
    if (is_ascii(at) && is_ascii(at + 1)) return out += text[at], 1;
    std::vector<utf8proc_int32_t> points;
    std::size_t end = at;
    while (end < text.size()) {
      const Utf8Char c = decode_utf8(text.substr(end));
      if (c.kind != Utf8Char::Kind::valid) break;
      std::array<utf8proc_int32_t, 32> parts;  // the longest decomposition has 18
      int no_state = 0;
      const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code_point),
                                             parts.data(), parts.size(), flags, &no_state);
      if (end > at && begins_segment(parts[0])) break;
      points.insert(points.end(), parts.begin(), parts.begin() + n);
      end += c.length;
    }
    if (end == at) out += text[end++];
    sort_marks(points);
    const auto n = utf8proc_normalize_utf32(points.data(),
                                            static_cast<utf8proc_ssize_t>(points.size()), flags);
    for (utf8proc_ssize_t i = 0; i < n; ++i) {
      append_utf8(out, static_cast<char32_t>(points[static_cast<std::size_t>(i)]));
    }
    return end - at;
  };
}

Rewrite without_marks(std::string_view category) {
  return each_character([category](char32_t c, std::string_view bytes, std::string& out) {
    if (c < 0x300 || !category_of(c).starts_with(category)) out += bytes;
  });
}

Rewrite stripping(bool left, bool right) {
  return [=](std::string_view text, std::size_t at, std::string& out) -> std::size_t {
    const std::size_t spaces = run_length(text.substr(at), CharClass::space);
    const bool is_dropped = (left && at == 0) || (right && at + spaces == text.size());
    if (spaces == 0 || !is_dropped) out += text.substr(at, std::max<std::size_t>(spaces, 1));
    return std::max<std::size_t>(spaces, 1);
  };
}

// Returns a step that puts a text before a text that is not empty.
Rewrite prepending(std::string content) {
  return [content](std::string_view text, std::size_t at, std::string& out) -> std::size_t {
    if (at == 0) out += content;
    return out += text[at], 1;
  };
}

std::size_t spell_byte(std::string_view text, std::size_t at, std::string& out) {
  append_spelled(out, text[at]);
  return 1;
}

// The one regular expression that files of SentencePiece models have: " {2,}".
Rewrite joining_spaces(std::string content) {
  return [content](std::string_view text, std::size_t at, std::string& out) -> std::size_t {
    const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    if (end < at + 2) return out += text[at], 1;
    out += content;
    return end - at;
  };
}

// Decodes base64 up to the first character that is not part of it.
std::string base64_bytes(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((n_bits += 6) >= 8) bytes += static_cast<char>(bits >> (n_bits -= 8) & 0xff);
  }
  return bytes;
}

void add_bert(const JsonFields& fields, Rewrites& steps) {
  const bool lowercase = fields.flag("lowercase", true);
  if (fields.flag("clean_text", true)) steps.push_back(each_character(clean));
  if (fields.flag("handle_chinese_chars", true)) {
    steps.push_back(each_character([](char32_t c, std::string_view bytes, std::string& out) {
      if (!is_chinese(c)) return void(out += bytes);
      out.append(" ").append(bytes).append(" ");
    }));
  }
  if (fields.flag("strip_accents", lowercase)) {
    steps.push_back(normal_form(UTF8PROC_DECOMPOSE));
    steps.push_back(without_marks("Mn"));
  }
  if (lowercase) steps.push_back(each_character(lower));
}

void add_precompiled(const JsonFields& fields, Rewrites& steps) {
  const auto rules = std::make_shared<const Precompiled>(
      base64_bytes(fields.required_string("precompiled_charsmap")), fields.where());
  steps.push_back([rules](std::string_view text, std::size_t at, std::string& out) {
    return rules->rewrite(text, at, out);
  });
}

void add_replacing(const JsonFields& fields, Rewrites& steps) {
  const JsonFields pattern = fields.required_object("pattern");
  std::string content = fields.required_string("content");
  const auto text = pattern.string("String");
  if (text && !text->empty() && text->size() <= Precompiled::kMaxBytes) {
    return steps.push_back(replacing(*text, std::move(content)));
  }
  if (pattern.string("Regex") == " {2,}") return steps.push_back(joining_spaces(content));
  pattern.refuse(
      text ? "String" : "Regex",
      concat("a String of 1 to ", Precompiled::kMaxBytes, " bytes, or the Regex ' {2,}'"),
      ErrorCode::unsupported);
}

template <int options>
void add_normal_form(const JsonFields&, Rewrites& steps) {
  steps.push_back(normal_form(options));
}

constexpr StepKind<Rewrites> kNormalizers[] = {
    {"NFC", add_normal_form<UTF8PROC_COMPOSE>},
    {"NFD", add_normal_form<UTF8PROC_DECOMPOSE>},
    {"NFKC", add_normal_form<UTF8PROC_COMPOSE | UTF8PROC_COMPAT>},
    {"NFKD", add_normal_form<UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT>},
    {"BertNormalizer", add_bert},
    {"Lowercase", [](const auto&, Rewrites& steps) { steps.push_back(each_character(lower)); }},
    {"StripAccents", [](const auto&, Rewrites& steps) { steps.push_back(without_marks("M")); }},
    {"Precompiled", add_precompiled},
    {"ByteLevel", [](const auto&, Rewrites& steps) { steps.push_back(spell_byte); }},
    {"Prepend",
     [](const auto& fields, Rewrites& steps) {
       steps.push_back(prepending(fields.required_string("prepend")));
     }},
    {"Replace", add_replacing},
    {"Strip", [](const auto& fields, Rewrites& steps) {
       steps.push_back(
           stripping(fields.flag("strip_left", true), fields.flag("strip_right", true)));
     }}};

}  // namespace

std::size_t rewrite_limit(std::size_t text_bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::size_t>(
      std::clamp(32 * std::min<std::uint64_t>(text_bytes, kMost), kLeast, kMost));
}

void spend(std::size_t& left, std::size_t bytes) {
  if (bytes > left) {
    reject(
        "the steps of the tokenizer make more than 8 MiB and 32 times its size of a text, or "
        "2 GiB: divide a long text; otherwise, the tokenizer's file is damaged");
  }
  left -= bytes;
}

TextView rewrite_text(const TextView& text, std::string_view prefix, const Rewrite& rewrite,
                      bool with_origins, TextBuffer& buffer, std::size_t& left) {
  spend(left, prefix.size());
  buffer.text = prefix;
  const std::size_t begin = text.text.empty() ? text.begin : text.range(0, 1).begin;
  buffer.origins.assign(with_origins ? prefix.size() : 0, {begin, begin});
  for (std::size_t at = 0; at < text.text.size();) {
    std::size_t length = with_origins ? 1 : text.text.size();
    if (rewrite) {
      const std::size_t before = buffer.text.size();
      length = rewrite(text.text, at, buffer.text);
      spend(left, buffer.text.size() - before);
    } else {
      spend(left, length);
      buffer.text += text.text.substr(at, length);
    }
    if (with_origins) buffer.origins.resize(buffer.text.size(), text.range(at, at + length));
    at += length;
  }
  return {buffer.text, with_origins ? buffer.origins.data() : nullptr, text.begin};
}

Rewrite replacing(std::string pattern, std::string content) {
  return [pattern, content](std::string_view text, std::size_t at, std::string& out) {
    if (!text.substr(at).starts_with(pattern)) return out += text[at], std::size_t{1};
    out += content;
    return pattern.size();
  };
}

TextView normalize(TextView text, std::span<const Rewrite> steps, bool with_origins,
                   std::array<TextBuffer, 2>& buffers, std::size_t& left) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text = rewrite_text(text, "", steps[i], with_origins, buffers[i % 2], left);
  }
  return text;
}

std::span<const StepKind<Rewrites>> normalizer_kinds() { return kNormalizers; }

}  // namespace gpt2
