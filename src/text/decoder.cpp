#include "text/decoder.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "gpt2/tokenizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  for (std::size_t at = 0; (at = text.find(pattern, at)) != text.npos; at += content.size()) {
    text.replace(at, pattern.size(), content);
  }
}

// Removes what BERT's decoder removes from a single token.
void clean_up(std::string& token) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},           {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},          {" n't", "n't"}, {" 'm", "'m"},  {" 's", "'s"},
      {" do not", " don't"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [pattern, content] : kRules) replace_all(token, pattern, content);
}

TokenDecoder::Step metaspace_decoding(bool keeps_first) {
  return [keeps_first](std::string& token, bool is_first) {
    replace_all(token, kMetaspace, is_first && !keeps_first ? "" : " ");
  };
}

TokenDecoder::Step stripping_start(const JsonFields& fields) {
  std::size_t start = 0;
  std::size_t stop = 0;
  fields.read("start", start);
  fields.read("stop", stop);
  if (stop != 0) fields.refuse("stop", "0", ErrorCode::unsupported);
  return [content = fields.required_string("content"), start](std::string& token, bool is_first) {
    if (content.empty()) return;
    for (std::size_t i = 0; is_first && i < start && token.starts_with(content); ++i) {
      token.erase(0, content.size());
    }
  };
}

TokenDecoder::Step replacing_in_token(const JsonFields& fields) {
  const auto pattern = fields.required_object("pattern").string("String");
  if (!pattern || pattern->empty()) {
    fields.refuse("pattern", "a String", ErrorCode::unsupported);
  }
  return [pattern = *pattern, content = fields.required_string("content")](
             std::string& token, bool) { replace_all(token, pattern, content); };
}

}  // namespace

TokenDecoder::Step wordpiece_decoding(std::string prefix, bool cleanup) {
  return [prefix = std::move(prefix), cleanup](std::string& token, bool is_first) {
    if (!is_first && token.starts_with(prefix)) {
      token.erase(0, prefix.size());
    } else if (!is_first) {
      token.insert(0, " ");
    }
    if (cleanup) clean_up(token);
  };
}

void append_decoder(const JsonFields& fields, TokenDecoder& decoder) {
  const std::string type = fields.required_string("type");
  if (type == "Fuse") return;
  if (type == "ByteFallback") {
    decoder.byte_fallback = true;
  } else if (type == "WordPiece") {
    bool cleanup = true;
    fields.read("cleanup", cleanup);
    decoder.steps.push_back(wordpiece_decoding(fields.string("prefix").value_or("##"), cleanup));
  } else if (type == "Metaspace") {
    decoder.steps.push_back(
        metaspace_decoding(read_prepend_scheme(fields) == PrependScheme::never));
  } else if (type == "Replace") {
    decoder.steps.push_back(replacing_in_token(fields));
  } else if (type == "Strip") {
    decoder.steps.push_back(stripping_start(fields));
  } else {
    fields.refuse("type",
                  "'ByteLevel', 'WordPiece', 'Metaspace', 'ByteFallback', 'Fuse', "
                  "'Replace' or 'Strip'",
                  ErrorCode::unsupported);
  }
}

Detokenizer::Detokenizer(Tokenizer tokenizer, std::span<const TokenId> before)
    : tokenizer_(std::move(tokenizer)) {
  for (const TokenId id : before) is_first_ &= tokenizer_.is_special(id);
}

std::string_view Detokenizer::write(TokenId id) {
  const Tokenizer::Impl& impl = *tokenizer_.impl_;
  if (impl.is_byte_level) return impl.vocabulary.bytes(id);
  const std::string_view name = impl.vocabulary.name(id);
  out_.clear();
  if (name.empty()) return out_;
  unsigned byte = 0;
  if (impl.decoder.byte_fallback && read_byte_piece(name, byte)) {
    held_ += static_cast<char>(byte);
    is_first_ = false;
    return out_;
  }
  const std::string bytes(flush());
  out_ = name;
  for (const TokenDecoder::Step& step : impl.decoder.steps) step(out_, is_first_);
  is_first_ = false;
  return out_.insert(0, bytes);
}

// As in HuggingFace's tokenizers, a run of bytes that is not UTF-8 becomes one U+FFFD for each
// byte. So the run has to end before any of it is certain.
std::string_view Detokenizer::flush() {
  out_.clear();
  if (valid_utf8_prefix(held_) == held_.size()) {
    out_ = held_;
  } else {
    for (std::size_t i = 0; i < held_.size(); ++i) out_ += kReplacementCharacter;
  }
  held_.clear();
  return out_;
}

}  // namespace gpt2
