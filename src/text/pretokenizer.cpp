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

// Returns the length of the match of \s+(?!\S)|\s+. At the end of the text, this matches all of the
// white space. Before a word, it matches all but the last white-space character, which belongs to
// the word if it is a plain space. If there is only one such character, it matches that one.
std::size_t white_space_length(std::string_view text) noexcept {
  const std::size_t length = run_length(text, CharClass::space);
  const std::size_t last = last_utf8(text.substr(0, length)).length;
  return length == text.size() || length == last ? length : length - last;
}

// Returns whether BERT takes the character for punctuation: all of ASCII's symbols, and category P.
bool is_bert_punctuation(const ClassifiedChar& c) {
  if (c.code_point >= 0x80) return category_of(c.code_point)[0] == 'P';
  return c.code_point > ' ' && c.code_point < 0x7f && c.kind == CharClass::other;
}

bool is_digit(const ClassifiedChar& c) { return c.kind == CharClass::number; }

FirstWord whole_text(std::string_view text) { return {text.size()}; }

FirstWord gpt2_word(std::string_view text) { return {first_word_length(text)}; }

bool is_never(const ClassifiedChar&) { return false; }

// Returns white space or a word, which is a character for which is_alone(character), or others.
template <bool (*is_alone)(const ClassifiedChar&)>
FirstWord word_between_spaces(std::string_view text) {
  if (const std::size_t spaces = run_length(text, CharClass::space)) return {spaces, false};
  if (const auto first = first_char(text); is_alone(first)) return {first.length};
  return {
      length_while(text, [](const auto& c) { return c.kind != CharClass::space && !is_alone(c); })};
}

FirstWord digits(std::string_view text) {
  if (const std::size_t length = length_while(text, is_digit)) return {length};
  return {length_while(text, [](const auto& c) { return !is_digit(c); })};
}

FirstWord single_digit(std::string_view text) {
  const ClassifiedChar first = first_char(text);
  return is_digit(first) ? FirstWord{first.length} : digits(text);
}

FirstWord word_with_metaspace(std::string_view text) {
  return {std::min(text.find(kMetaspace, 1), text.size())};
}

// GPT-2's pattern, as OpenAI's encoder.py and as tiktoken has it.
constexpr std::string_view kPatterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};

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
  const auto pattern = fields.required_object("pattern").string("Regex").value_or("");
  const bool is_known = std::ranges::find(kPatterns, pattern) != std::end(kPatterns);
  fields.expect(is_known, "pattern", "the pattern of GPT-2");
  const auto behavior = fields.string("behavior");
  fields.expect(!behavior || *behavior == "Isolated", "behavior", "'Isolated'");
  steps.push_back({gpt2_word});
}

constexpr StepKind<WordSplits> kPreTokenizers[] = {
    {"ByteLevel", add_byte_level},
    {"BertPreTokenizer",
     [](const auto&, WordSplits& steps) {
       steps.push_back({word_between_spaces<is_bert_punctuation>});
     }},
    {"WhitespaceSplit",
     [](const auto&, WordSplits& steps) { steps.push_back({word_between_spaces<is_never>}); }},
    {"Metaspace", add_metaspace},
    {"Digits",
     [](const auto& fields, WordSplits& steps) {
       steps.push_back({fields.flag("individual_digits", false) ? single_digit : digits});
     }},
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
