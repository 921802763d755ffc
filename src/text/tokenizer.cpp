#include "gpt2/tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "base/utf8.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Encoding {
  std::vector<TokenId> ids = {};
  std::size_t lost_bytes = 0;
};

void encode_text(const Tokenizer::Impl& impl, std::string_view text, Bpe::Scratch& scratch,
                 Encoding& encoding) {
  while (!text.empty()) {
    const std::size_t length = impl.split_words ? first_word_length(text) : text.size();
    encoding.lost_bytes +=
        impl.bpe.encode(text.substr(0, length), impl.vocabulary, scratch, encoding.ids);
    text.remove_prefix(length);
  }
}

Encoding encode_all(const Tokenizer::Impl& impl, std::string_view text,
                    const EncodeOptions& options) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() >= kMaxBytes) {
    reject("a text of ", text.size(),
           " bytes is too long to encode at once; expected less than 2 GiB");
  }
  std::string spaced;
  if (impl.prefix_space == PrefixSpace::before_text) text = spaced = concat(" ", text);

  Encoding encoding;
  std::vector<TokenId>& ids = encoding.ids;
  if (options.add_special_tokens) ids = impl.before;
  Bpe::Scratch scratch;
  for (const AddedTokens::Piece& piece : impl.added.split(text, options.parse_special)) {
    if (piece.token) {
      ids.push_back(piece.token->id);
    } else if (impl.prefix_space == PrefixSpace::before_pieces && !piece.text.starts_with(' ')) {
      encode_text(impl, concat(" ", piece.text), scratch, encoding);
    } else {
      encode_text(impl, piece.text, scratch, encoding);
    }
  }
  if (options.add_special_tokens) ids.insert(ids.end(), impl.after.begin(), impl.after.end());
  return encoding;
}

}  // namespace

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options,
                                       std::size_t* lost_bytes) const {
  Encoding encoding = encode_all(*impl_, text, options);
  if (lost_bytes != nullptr) *lost_bytes = encoding.lost_bytes;
  return std::move(encoding.ids);
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
    refuse("its token ", quote(name), " has the id ", i,
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
  for (const TokenId id : ids) text += bytes(id);
  return text;
}

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
    out_ += next.kind == Utf8Char::Kind::valid ? rest.substr(0, next.length) : kReplacement;
    rest.remove_prefix(next.length);
  }
  held_.erase(0, held_.size() - rest.size());
  return out_;
}

std::string_view Utf8Stream::flush() {
  out_ = held_.empty() ? std::string_view() : kReplacement;
  held_.clear();
  return out_;
}

}  // namespace gpt2
