#include "gpt2/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

// Encodes one text. The ranges of the tokens are stored if they are asked for.
class Encoder {
 public:
  Encoder(const Tokenizer::Impl& impl, bool with_ranges) : impl_(impl), with_ranges_(with_ranges) {}

  void encode(std::string_view text, bool parse_special);

  std::vector<TokenId> ids = {};
  std::vector<TextRange> ranges = {};
  std::size_t lost_bytes = 0;

 private:
  void encode_normalized(const TextView& text, bool parse_special);
  void split_words(const TextView& text, std::size_t step);
  void encode_words(std::string_view text, const WordSplit& split, const Bpe& bpe);
  void encode_word(const TextView& word);
  void add(const AddedToken& token, const TextView& text);

  const Tokenizer::Impl& impl_;
  const bool with_ranges_;
  Bpe::Scratch scratch_ = {};
  std::string word_scratch_ = {};
  std::vector<std::uint32_t> ends_ = {};  // of the tokens of one word
};

void Encoder::encode(std::string_view text, bool parse_special) {
  TextView whole{text};
  TextBuffer spaced;
  if (impl_.has_space_before) whole = rewrite_text(whole, " ", {}, with_ranges_, spaced);
  std::array<TextBuffer, 2> buffers;
  for (const AddedTokens::Piece& piece : impl_.added.split(whole.text, 0, parse_special)) {
    TextView part = whole.part(piece.text);
    if (piece.token) {
      add(*piece.token, part);
      continue;
    }
    if (impl_.sentencepiece) part = impl_.sentencepiece->normalize(part, with_ranges_, buffers[0]);
    for (std::size_t i = 0; i < impl_.normalizer.size(); ++i) {
      part = rewrite_text(part, "", impl_.normalizer[i], with_ranges_, buffers[i % 2]);
    }
    encode_normalized(part, parse_special);
  }
}

void Encoder::encode_normalized(const TextView& text, bool parse_special) {
  for (const AddedTokens::Piece& piece : impl_.added.split(text.text, 1, parse_special)) {
    const TextView part = text.part(piece.text);
    if (piece.token) {
      add(*piece.token, part);
    } else {
      split_words(part, 0);
    }
  }
}

// Divides the text by the steps of the pre-tokenizer from `step` on, and encodes the words.
void Encoder::split_words(const TextView& text, std::size_t step) {
  if (step == impl_.pre_tokenizer.size()) return encode_word(text);
  const WordSplit& split = impl_.pre_tokenizer[step];
  const bool has_prefix = !split.prefix.empty() && !(split.at_beginning_only && text.begin > 0) &&
                          !text.text.starts_with(' ') && !text.text.starts_with(split.prefix);
  TextView rest = text;
  TextBuffer changed;
  if (has_prefix || split.rewrite) {
    rest = rewrite_text(text, has_prefix ? split.prefix : "", split.rewrite, with_ranges_, changed);
  }
  const auto* const bpe = std::get_if<Bpe>(&impl_.model);
  if (bpe && !with_ranges_ && step + 1 == impl_.pre_tokenizer.size()) {
    encode_words(rest.text, split, *bpe);
    return;
  }
  while (!rest.text.empty()) {
    const auto [length, is_kept] = split.first_word(rest.text);
    if (is_kept) split_words(rest.part(rest.text.substr(0, length)), step + 1);
    rest = rest.part(rest.text.substr(length));
  }
}

// The same for the last step, a BPE and no ranges. This is the path of GPT-2's own tokenizer, which
// must not be slowed down by what it does not need.
void Encoder::encode_words(std::string_view text, const WordSplit& split, const Bpe& bpe) {
  while (!text.empty()) {
    const auto [length, is_kept] = split.first_word(text);
    if (is_kept) {
      lost_bytes += bpe.encode(text.substr(0, length), impl_.vocabulary, scratch_, ids, nullptr);
    }
    text.remove_prefix(length);
  }
}

void Encoder::encode_word(const TextView& word) {
  ends_.clear();
  std::vector<std::uint32_t>* const ends = with_ranges_ ? &ends_ : nullptr;
  if (const auto* bpe = std::get_if<Bpe>(&impl_.model)) {
    lost_bytes += bpe->encode(word.text, impl_.vocabulary, scratch_, ids, ends);
  } else if (const auto* model = std::get_if<WordPiece>(&impl_.model)) {
    lost_bytes += model->encode(word.text, impl_.vocabulary, word_scratch_, ids, ends);
  } else {
    lost_bytes += std::get<Unigram>(impl_.model).encode(word.text, ids, ends);
  }
  std::size_t begin = 0;
  for (const std::uint32_t end : ends_) {
    ranges.push_back(word.range(begin, end));
    begin = end;
  }
}

void Encoder::add(const AddedToken& token, const TextView& text) {
  ids.push_back(token.id);
  if (with_ranges_) ranges.push_back(text.range(0, text.text.size()));
}

}  // namespace

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options,
                                       std::size_t* lost_bytes,
                                       std::vector<TextRange>* ranges) const {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() >= kMaxBytes) {
    reject("a text of ", text.size(),
           " bytes is too long to encode at once; expected less than 2 GiB");
  }
  Encoder encoder(*impl_, ranges != nullptr);
  const auto add_special = [&](const std::vector<TokenId>& tokens) {
    if (!options.add_special_tokens) return;
    encoder.ids.insert(encoder.ids.end(), tokens.begin(), tokens.end());
    encoder.ranges.resize(ranges != nullptr ? encoder.ids.size() : 0);
  };
  add_special(options.post_process ? impl_->before : impl_->prompt_start);
  encoder.encode(text, options.parse_special);
  // T5Tokenizer adds no second </s>.
  const bool is_there = impl_->sentencepiece && !encoder.ids.empty() && !impl_->after.empty() &&
                        encoder.ids.back() == impl_->after.back();
  if (options.post_process && !is_there) add_special(impl_->after);
  if (lost_bytes != nullptr) *lost_bytes = encoder.lost_bytes;
  if (ranges != nullptr) *ranges = std::move(encoder.ranges);
  return std::move(encoder.ids);
}

void Tokenizer::require_match(const Config& config) const {
  const auto refuse = [](const auto&... parts) {
    reject("the tokenizer does not belong to the model: ", parts...,
           "; load the tokenizer that the model was trained with");
  };
  // BPE may produce any token that is not an added one, so all these tokens need an embedding.
  // Added tokens need not have one: pad_token, for example, is often added after training in order
  // to pad batches, and is never embedded.
  for (std::size_t i = config.vocab_size; i < size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view name = impl_->vocabulary.name(id);
    if (name.empty() || impl_->added.contains(id)) continue;
    refuse("its token ", quote(name), " has the id ", i, " in ", impl_->files.front().string(),
           ", but the model has embeddings only for ids below ", config.vocab_size);
  }
  // Training code rounds the number of embeddings up: to a multiple of 64 (nanoGPT), or of 128
  // times the number of GPUs that share them (Megatron, for example from 50257 to 51200). Therefore
  // up to twice as many embeddings as ids are accepted, and always kMaxPadding more.
  constexpr std::size_t kMaxPadding = 1024;
  const std::size_t padding = config.vocab_size - std::min(config.vocab_size, size());
  if (padding > std::max(size(), kMaxPadding)) {
    refuse("it has ", size(), " ids, but the model has embeddings for ", config.vocab_size);
  }
}

std::string_view Tokenizer::bytes(TokenId id) const noexcept { return impl_->vocabulary.bytes(id); }

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  Detokenizer stream(*this);
  for (const TokenId id : ids) text += stream.write(id);
  return text += stream.flush();
}

bool Tokenizer::is_byte_level() const noexcept { return impl_->is_byte_level; }

bool Tokenizer::is_special(TokenId id) const noexcept { return impl_->added.is_special(id); }

std::optional<TokenId> Tokenizer::find(std::string_view content) const {
  const auto named = impl_->vocabulary.find(content);
  return named && bytes(*named) == content ? named : impl_->vocabulary.find_bytes(content);
}

std::optional<TokenId> Tokenizer::end_of_text() const noexcept { return impl_->end_of_text; }

std::size_t Tokenizer::size() const noexcept { return impl_->vocabulary.size(); }

std::size_t Tokenizer::vocab_size() const noexcept {
  return impl_->vocabulary.count() - impl_->added.n_new();
}

const std::string& Tokenizer::description() const noexcept { return impl_->description; }

const std::vector<std::filesystem::path>& Tokenizer::files() const noexcept { return impl_->files; }

std::string_view Utf8Stream::write(std::string_view bytes) {
  held_ += bytes;
  out_.clear();
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Char next = decode_utf8(rest);
    if (next.kind == Utf8Char::Kind::truncated) break;
    out_ +=
        next.kind == Utf8Char::Kind::valid ? rest.substr(0, next.length) : kReplacementCharacter;
    rest.remove_prefix(next.length);
  }
  held_.erase(0, held_.size() - rest.size());
  return out_;
}

std::string_view Utf8Stream::flush() {
  out_ = held_.empty() ? std::string_view() : kReplacementCharacter;
  held_.clear();
  return out_;
}

}  // namespace gpt2
