#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  std::string changed;
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(pattern, begin)) != text.npos; begin = at + pattern.size()) {
    changed.append(text, begin, at - begin).append(content);
  }
  if (begin > 0) text = changed.append(text, begin);
}

// Removes what BERT's decoder removes from a single token.
void clean_up(std::string& token) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},           {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},          {" n't", "n't"}, {" 'm", "'m"},  {" 's", "'s"},
      {" do not", " don't"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [pattern, content] : kRules) replace_all(token, pattern, content);
}

// Puts a space before each token that begins a word, but the first. With `cleanup`, there is none
// before a punctuation mark such as ".".
void add_wordpiece(const JsonFields& fields, TokenDecoder& decoder) {
  const std::string prefix = fields.string("prefix").value_or("##");
  const bool cleanup = fields.flag("cleanup", true);
  decoder.steps.push_back([prefix, cleanup](std::string& token, bool is_first) {
    if (!is_first && token.starts_with(prefix)) {
      token.erase(0, prefix.size());
    } else if (!is_first) {
      token.insert(0, " ");
    }
    if (cleanup) clean_up(token);
  });
}

void add_metaspace_decoder(const JsonFields& fields, TokenDecoder& decoder) {
  const bool keeps_first = read_prepend_scheme(fields) == "never";
  decoder.steps.push_back([keeps_first](std::string& token, bool is_first) {
    replace_all(token, kMetaspace, is_first && !keeps_first ? "" : " ");
  });
}

// HuggingFace's tokenizers strip every token, so that this makes sense only if they are one.
void add_strip(const JsonFields& fields, TokenDecoder& decoder) {
  fields.expect(decoder.is_fused, "type", "a step behind which is no Strip, unless it is Fuse");
  std::size_t start = 0, stop = 0;
  fields.read("start", start, 0, 16);
  fields.read("stop", stop);
  fields.expect(stop == 0, "stop", "0");
  decoder.steps.push_back(
      [content = fields.required_string("content"), start](std::string& token, bool is_first) {
        for (std::size_t n = 0; is_first && n < start && token.starts_with(content); ++n) {
          token.erase(0, content.size());
        }
      });
}

void add_bpe_decoder(const JsonFields& fields, TokenDecoder& decoder) {
  decoder.end_of_word = fields.required_string("suffix");
  fields.expect(!decoder.end_of_word.empty(), "suffix", "a text");
}

void add_replace(const JsonFields& fields, TokenDecoder& decoder) {
  const JsonFields object = fields.required_object("pattern");
  const auto pattern = object.string("String");
  object.expect(pattern && !pattern->empty(), pattern ? "String" : "Regex", "a String");
  const std::string content = fields.required_string("content");
  fields.expect(content.size() <= pattern->size(), "content",
                "a text that is not longer than the pattern");
  decoder.steps.push_back([pattern = *pattern, content](std::string& token, bool) {
    replace_all(token, pattern, content);
  });
}

constexpr StepKind<TokenDecoder> kDecoders[] = {
    {"ByteLevel", [](const auto&, TokenDecoder& decoder) { decoder.is_byte_level = true; }},
    {"WordPiece", add_wordpiece},
    {"Metaspace", add_metaspace_decoder},
    {"ByteFallback", [](const auto&, TokenDecoder& decoder) { decoder.byte_fallback = true; }},
    {"BPEDecoder", add_bpe_decoder},
    {"Fuse", [](const auto&, TokenDecoder& decoder) { decoder.is_fused = true; }},
    {"Replace", add_replace},
    {"Strip", add_strip}};

// What becomes one U+FFFD: a byte that is not part of a character, or a maximal part of invalid
// bytes.
enum class Invalid : std::uint8_t { byte, part };

// Takes the characters from `held`. Leaves one there that may still be completed, unless `is_end`.
std::string take_characters(std::string& held, Invalid invalid, bool is_end) {
  std::string out;
  std::string_view rest = held;
  while (!rest.empty()) {
    const Utf8Char c = decode_utf8(rest);
    if (c.kind == Utf8Char::Kind::truncated && !is_end) break;
    const bool is_valid = c.kind == Utf8Char::Kind::valid;
    out += is_valid ? rest.substr(0, c.length) : kReplacementCharacter;
    rest.remove_prefix(is_valid || invalid == Invalid::part ? c.length : 1);
  }
  held.erase(0, held.size() - rest.size());
  return out;
}

}  // namespace

std::span<const StepKind<TokenDecoder>> decoder_kinds() { return kDecoders; }

TokenDecoder sentencepiece_decoder(const SentencePieceFile& file) {
  std::map<std::string, std::string, std::less<>> texts;  // of pieces that are no text themselves
  for (const Piece& piece : file.pieces) {
    if (piece.kind == Piece::Kind::control) texts[std::string(piece.text)] = "";
    if (piece.kind == Piece::Kind::unknown) texts[std::string(piece.text)] = " \u2047 ";
  }
  const SentencePieceNormalizer& normalizer = file.normalizer;
  const bool drops_first = normalizer.add_dummy_prefix || normalizer.remove_extra_whitespaces;
  const auto step = [=](std::string& token, bool is_first) {
    if (const auto found = texts.find(token); found != texts.end()) {
      token = found->second;
      return;
    }
    if (is_first && drops_first && token.starts_with(kMetaspace)) token.erase(0, kMetaspace.size());
    replace_all(token, kMetaspace, " ");
  };
  return {.steps = {step}, .byte_fallback = file.options.byte_fallback, .is_sentencepiece = true};
}

Detokenizer::Detokenizer(Tokenizer tokenizer, std::span<const TokenId> before)
    : tokenizer_(std::move(tokenizer)) {
  const std::string& mark = tokenizer_.impl_->decoder.end_of_word;
  for (const TokenId id : before) {
    if (tokenizer_.is_special(id)) continue;
    is_first_ = false;
    held_ = tokenizer_.impl_->vocabulary.name(id).ends_with(mark) ? mark : "";
  }
}

std::string_view Detokenizer::write(TokenId id) {
  const Tokenizer::Impl& impl = *tokenizer_.impl_;
  if (impl.is_byte_level) return impl.vocabulary.bytes(id);
  const std::string_view name = impl.vocabulary.name(id);
  out_.clear();
  if (name.empty()) return out_;
  if (const std::string& mark = impl.decoder.end_of_word; !mark.empty()) {
    out_ = std::exchange(held_, std::string(name));
    replace_all(out_, mark, " ");
    return out_;
  }
  unsigned byte = 0;
  if (impl.decoder.byte_fallback && read_byte_piece(name, byte)) {
    held_ += static_cast<char>(byte);
    if (impl.decoder.is_sentencepiece) out_ = take_characters(held_, Invalid::byte, false);
    is_first_ = false;
    return out_;
  }
  const std::string bytes(flush());
  // SentencePiece's text begins with the first token that has a text.
  std::string text(name);
  for (const TokenDecoder::Step& step : impl.decoder.steps) step(text, is_first_);
  is_first_ &= impl.decoder.is_sentencepiece && text.empty() && bytes.empty();
  return out_ = bytes + text;
}

// In HuggingFace's tokenizers, a run of bytes that is not UTF-8 becomes one U+FFFD for each byte,
// so that the run has to end before any of it is certain. In SentencePiece, only bytes that are no
// part of a character do.
std::string_view Detokenizer::flush() {
  if (const std::string& mark = tokenizer_.impl_->decoder.end_of_word; !mark.empty()) {
    out_ = std::exchange(held_, {});
    replace_all(out_, mark, "");
    return out_;
  }
  const bool is_valid = valid_utf8_prefix(held_) == held_.size();
  if (!tokenizer_.impl_->decoder.is_sentencepiece && !is_valid) held_.assign(held_.size(), '\xff');
  return out_ = take_characters(held_, Invalid::byte, true);
}

std::string_view Utf8Stream::write(std::string_view bytes) {
  held_ += bytes;
  return out_ = take_characters(held_, Invalid::part, false);
}

std::string_view Utf8Stream::flush() { return out_ = take_characters(held_, Invalid::part, true); }

}  // namespace gpt2
