// The pattern of OpenAI's encoder.py, where alternatives are tried from left to right:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
#include <utf8proc.h>

#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

// The part of Other_Alphabetic that no category in is_word_char covers: letters in circles and
// squares, which are symbols (So).
constexpr bool is_enclosed_letter(char32_t c) {
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

struct ClassifiedChar {
  CharClass kind;
  std::size_t length;
  char32_t code_point;  // 0 if invalid
};

// The classes of ASCII characters. With this table, common text needs neither decoding nor
// utf8proc.
constexpr std::array<CharClass, 128> kAscii = [] {
  std::array<CharClass, 128> classes{};
  classes.fill(CharClass::other);
  for (std::size_t c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 32] = CharClass::letter;
  for (std::size_t c = '0'; c <= '9'; ++c) classes[c] = CharClass::number;
  for (std::size_t c = '\t'; c <= '\r'; ++c) classes[c] = CharClass::space;
  classes[' '] = CharClass::space;
  return classes;
}();

ClassifiedChar first_char(std::string_view text) noexcept {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < kAscii.size()) return {kAscii[byte], 1, byte};
  const Utf8Char c = decode_utf8(text);
  if (c.kind != Utf8Char::Kind::valid) return {CharClass::other, 1, 0};
  return {class_of(c.code_point), c.length, c.code_point};
}

// Returns the length of the characters at the beginning of `text` for which is_one(character).
template <class F>
std::size_t length_while(std::string_view text, const F& is_one) noexcept {
  std::size_t length = 0;
  while (length < text.size()) {
    const ClassifiedChar next = first_char(text.substr(length));
    if (!is_one(next)) break;
    length += next.length;
  }
  return length;
}

// Returns the length of the match of 's|'t|'re|'ve|'m|'ll|'d, or 0 if there is none.
std::size_t contraction_length(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (std::string_view("stmd").find(text[1]) != std::string_view::npos) return 2;
  const std::string_view pair = text.substr(1, 2);
  return pair == "re" || pair == "ve" || pair == "ll" ? 3 : 0;
}

// The same for (?i:'s|'t|'re|'ve|'m|'ll|'d), which takes the long s (U+017F) for an s.
std::size_t contraction_length_of_any_case(std::string_view text) {
  if (!text.starts_with('\'')) return 0;
  if (text.substr(1).starts_with("\u017f")) return 3;
  std::string lower(text.substr(0, 3));
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return contraction_length(lower);
}

// Returns the length of the match of \s+(?!\S)|\s+. At the end of the text, this matches all of the
// white space. Before a word, it matches all but the last white-space character, which belongs to
// the word if it is a plain space. If there is only one such character, it matches that one.
std::size_t white_space_length(std::string_view text) noexcept {
  const std::size_t length = run_length(text, CharClass::space);
  const std::size_t last = last_utf8(text.substr(0, length)).length;
  return length == text.size() || length == last ? length : length - last;
}

// Returns whether the character is punctuation: one of ASCII's symbols, or of category P.
bool is_punctuation(const ClassifiedChar& c) {
  if (c.code_point >= 0x80) return category_of(c.code_point)[0] == 'P';
  return c.code_point > ' ' && c.code_point < 0x7f && c.kind == CharClass::other;
}

bool is_digit(const ClassifiedChar& c) { return c.kind == CharClass::number; }

bool is_space(const ClassifiedChar& c) { return c.kind == CharClass::space; }

bool is_of_word(const ClassifiedChar& c) { return is_word_char(c.code_point); }

FirstWord whole_text(std::string_view text) { return {text.size()}; }

FirstWord gpt2_word(std::string_view text) { return {first_word_length(text)}; }

// What a step does with a mark, which is a character for which is_mark(character).
enum class Behavior : std::uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,
};

// Returns marks, or the characters up to the next mark.
template <bool (*is_mark)(const ClassifiedChar&), Behavior behavior>
FirstWord split_at(std::string_view text) {
  const auto rest_from = [&](std::size_t begin) {
    return length_while(text.substr(begin), [](const auto& c) { return !is_mark(c); });
  };
  const ClassifiedChar first = first_char(text);
  if (!is_mark(first)) {
    const std::size_t length = rest_from(0);
    const bool takes_mark = behavior == Behavior::merged_with_previous && length < text.size();
    return {length + (takes_mark ? first_char(text.substr(length)).length : 0)};
  }
  if (behavior == Behavior::contiguous) return {length_while(text, is_mark)};
  if (behavior == Behavior::merged_with_next) return {first.length + rest_from(first.length)};
  return {first.length, behavior != Behavior::removed};
}

FirstWord word_with_metaspace(std::string_view text) {
  return {std::min(text.find(kMetaspace, 1), text.size())};
}

// Returns the part that the patterns of GPT-4 and of Qwen 2 match. They differ in max_digits.
template <std::size_t max_digits>
FirstWord gpt4_word(std::string_view text) {
  if (const std::size_t length = contraction_length_of_any_case(text)) return {length};
  const ClassifiedChar first = first_char(text);
  const bool is_break = text[0] == '\n' || text[0] == '\r';
  const bool may_lead = first.kind == CharClass::space || first.kind == CharClass::other;
  const std::size_t lead = may_lead && !is_break ? first.length : 0;
  if (const auto letters = run_length(text.substr(lead), CharClass::letter))
    return {lead + letters};
  if (is_digit(first)) {
    std::size_t n = 0;
    return {length_while(text, [&](const auto& c) { return is_digit(c) && n++ < max_digits; })};
  }
  const std::size_t space = text[0] == ' ' ? 1 : 0;
  if (const auto others = run_length(text.substr(space), CharClass::other)) {
    const std::size_t end = text.find_first_not_of("\r\n", space + others);
    return {std::min(end, text.size())};
  }
  const std::string_view spaces = text.substr(0, run_length(text, CharClass::space));
  const std::size_t last_break = spaces.find_last_of("\r\n");
  return {last_break != spaces.npos ? last_break + 1 : white_space_length(text)};
}

// The patterns of GPT-2, as OpenAI's encoder.py and as tiktoken has it, of GPT-4, which is also
// that of Llama 3, and of Qwen 2.
constexpr std::pair<std::string_view, FirstWord (*)(std::string_view)> kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2_word},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2_word},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4_word<3>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4_word<1>}};

void add_byte_level(const JsonFields& fields, WordSplits& steps) {
  const bool splits = fields.flag("use_regex", true);
  const bool has_prefix = fields.flag("add_prefix_space", false);
  steps.push_back({.first_word = splits ? gpt2_word : whole_text,
                   .prefix = has_prefix ? " " : "",
                   .is_byte_level = true});
}

void add_metaspace(const JsonFields& fields, WordSplits& steps) {
  const auto replacement = fields.string("replacement");
  fields.expect(!replacement || *replacement == kMetaspace, "replacement", "U+2581");
  const std::string scheme = read_prepend_scheme(fields);
  steps.push_back({.first_word = fields.flag("split", true) ? word_with_metaspace : whole_text,
                   .prefix = scheme == "never" ? "" : std::string(kMetaspace),
                   .at_beginning_only = scheme == "first",
                   .rewrite = replacing(" ", std::string(kMetaspace))});
}

void add_split(const JsonFields& fields, WordSplits& steps) {
  const JsonFields pattern = fields.required_object("pattern");
  const auto regex = pattern.string("Regex").value_or("");
  const auto known = std::ranges::find(kPatterns, regex, [](const auto& one) { return one.first; });
  pattern.expect(known != std::end(kPatterns), pattern.find("String") ? "String" : "Regex",
                 "the pattern of GPT-2, GPT-4 or Qwen 2");
  // Each pattern matches the whole text, part by part.
  const auto behavior = fields.string("behavior").value_or("Isolated");
  const bool is_inverted = fields.flag("invert", false);
  fields.expect(behavior == "Isolated" || (behavior == "Removed" && is_inverted), "behavior",
                "'Isolated', or 'Removed' with invert");
  steps.push_back({known->second});
}

void add_punctuation(const JsonFields& fields, WordSplits& steps) {
  constexpr std::pair<std::string_view, FirstWord (*)(std::string_view)> kBehaviors[] = {
      {"Isolated", split_at<is_punctuation, Behavior::isolated>},
      {"Removed", split_at<is_punctuation, Behavior::removed>},
      {"MergedWithPrevious", split_at<is_punctuation, Behavior::merged_with_previous>},
      {"MergedWithNext", split_at<is_punctuation, Behavior::merged_with_next>},
      {"Contiguous", split_at<is_punctuation, Behavior::contiguous>}};
  const auto name = fields.string("behavior").value_or("Isolated");
  for (const auto& [behavior, first_word] : kBehaviors) {
    if (name == behavior) return steps.push_back({first_word});
  }
  fields.refuse("behavior", "Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
}

constexpr StepKind<WordSplits> kPreTokenizers[] = {
    {"ByteLevel", add_byte_level},
    {"BertPreTokenizer",
     [](const auto&, WordSplits& steps) {
       steps.push_back({split_at<is_space, Behavior::removed>});
       steps.push_back({split_at<is_punctuation, Behavior::isolated>});
     }},
    {"Whitespace",
     [](const auto&, WordSplits& steps) {
       steps.push_back({split_at<is_space, Behavior::removed>});
       steps.push_back({split_at<is_of_word, Behavior::contiguous>});
     }},
    {"WhitespaceSplit",
     [](const auto&, WordSplits& steps) {
       steps.push_back({split_at<is_space, Behavior::removed>});
     }},
    {"Metaspace", add_metaspace},
    {"Digits",
     [](const auto& fields, WordSplits& steps) {
       steps.push_back({fields.flag("individual_digits", false)
                            ? split_at<is_digit, Behavior::isolated>
                            : split_at<is_digit, Behavior::contiguous>});
     }},
    {"Punctuation", add_punctuation},
    {"Split", add_split}};

}  // namespace

std::string_view category_of(char32_t code_point) noexcept {
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(code_point));
}

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

std::size_t run_length(std::string_view text, CharClass kind) noexcept {
  return length_while(text, [kind](const auto& c) { return c.kind == kind; });
}

std::size_t first_word_length(std::string_view text) noexcept {
  if (const std::size_t length = contraction_length(text)) return length;
  const std::size_t space = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const CharClass kind = first_char(text.substr(space)).kind;
  if (kind == CharClass::space) return white_space_length(text);
  return space + run_length(text.substr(space), kind);
}

std::string read_prepend_scheme(const JsonFields& fields) {
  if (!fields.flag("add_prefix_space", true)) return "never";
  std::string scheme = fields.string("prepend_scheme").value_or("always");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fields.refuse("prepend_scheme", "'always', 'first' or 'never'");
  }
  return scheme;
}

std::span<const StepKind<WordSplits>> pre_tokenizer_kinds() { return kPreTokenizers; }

}  // namespace gpt2
