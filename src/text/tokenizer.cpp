#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

// Encodes one text.
struct Encoder {
  const Tokenizer::Impl& impl;
  const bool with_ranges;
  const bool parse_special;
  TokenSink out = {with_ranges};
  std::array<TextBuffer, 2> buffers = {};
  Symbols symbols = {};
  std::size_t left = 0;  // see rewrite_limit()

  // Pass 0 is for the text itself, and pass 1 for each part of it after the normalizer.
  void encode(const TextView& text, std::size_t pass) {
    for (const AddedTokens::Piece& piece : impl.added.split(text.text, pass, parse_special)) {
      const TextView part = text.part(piece.text);
      if (piece.token) {
        out.begin(part);
        out.add(piece.token->id, part.text.size());
      } else if (pass == 0) {
        encode(normalized(part), 1);
      } else {
        split_words(part, 0);
      }
    }
  }

  TextView normalized(const TextView& text) {
    const TextView changed = normalize(text, impl.normalizer, with_ranges, buffers, left);
    if (!impl.sentencepiece) return changed;
    TextBuffer& free_buffer = buffers[impl.normalizer.size() % 2];
    return impl.sentencepiece->normalize(changed, with_ranges, free_buffer, left);
  }

  // Divides the text by the steps of the pre-tokenizer from `step` on, and encodes the words.
  void split_words(const TextView& text, std::size_t step) {
    if (step == impl.pre_tokenizer.size()) {
      out.begin(text);
      return impl.model(text.text, symbols, out);
    }
    const WordSplit& split = impl.pre_tokenizer[step];
    const bool has_prefix = !split.prefix.empty() && !(split.at_beginning_only && text.begin > 0) &&
                            !text.text.starts_with(' ') && !text.text.starts_with(split.prefix);
    TextView rest = text;
    TextBuffer changed;
    if (has_prefix || split.rewrite) {
      const std::string_view prefix = has_prefix ? split.prefix : std::string_view();
      rest = rewrite_text(text, prefix, split.rewrite, with_ranges, changed, left);
    }
    const bool is_last = step + 1 == impl.pre_tokenizer.size();
    while (!rest.text.empty()) {
      const auto [length, is_kept] = split.first_word(rest.text);
      const std::string_view word = rest.text.substr(0, length);
      // GPT-2's own tokenizer takes the first way, which must not be slowed down by what it does
      // not need.
      if (is_kept && is_last && !with_ranges) {
        impl.model(word, symbols, out);
      } else if (is_kept) {
        split_words(rest.part(word), step + 1);
      }
      rest = rest.part(rest.text.substr(length));
    }
  }
};

}  // namespace

EncodedText Tokenizer::encode_text(std::string_view text, const EncodeOptions& options) const {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() >= kMaxBytes) {
    reject("a text of ", text.size(),
           " bytes is too long to encode at once; expected less than 2 GiB");
  }
  Encoder encoder{*impl_, options.with_ranges,
                  options.parse_special && !impl_->split_special_tokens};
  encoder.left = rewrite_limit(text.size());
  TokenSink& out = encoder.out;
  const auto add_special = [&](const std::vector<TokenId>& tokens) {
    if (!options.add_special_tokens) return;
    out.ids.insert(out.ids.end(), tokens.begin(), tokens.end());
    out.ranges.resize(options.with_ranges ? out.ids.size() : 0);
  };
  add_special(options.post_process ? impl_->before : impl_->prompt_start);
  encoder.encode({text}, 0);
  // Only ranges tell which bytes of the text itself have no token.
  if (out.lost_bytes > 0 && !options.with_ranges) {
    EncodeOptions with_ranges = options;
    with_ranges.with_ranges = true;
    EncodedText encoded = encode_text(text, with_ranges);
    encoded.ranges.clear();
    return encoded;
  }
  // T5Tokenizer adds no second </s>.
  const bool is_there = impl_->sentencepiece && !out.ids.empty() && !impl_->after.empty() &&
                        out.ids.back() == impl_->after.back();
  if (options.post_process && !is_there) add_special(impl_->after);
  return {std::move(out.ids), std::move(out.ranges), out.lost_bytes};
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
    if (name.empty() || impl_->added.tokens.contains(id)) continue;
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

bool Tokenizer::is_special(TokenId id) const noexcept {
  const auto found = impl_->added.tokens.find(id);
  return found != impl_->added.tokens.end() && found->second.special;
}

std::optional<TokenId> Tokenizer::find(std::string_view content) const {
  const auto named = impl_->vocabulary.find(content);
  return named && bytes(*named) == content ? named : impl_->vocabulary.find_bytes(content);
}

std::optional<TokenId> Tokenizer::bos_token() const noexcept { return impl_->bos; }

std::optional<TokenId> Tokenizer::end_of_text() const noexcept { return impl_->end_of_text; }

const std::vector<Tokenizer::SpecialToken>& Tokenizer::special_tokens() const noexcept {
  return impl_->special_tokens;
}

std::size_t Tokenizer::size() const noexcept { return impl_->vocabulary.size(); }

std::size_t Tokenizer::vocab_size() const noexcept {
  return impl_->vocabulary.count() - impl_->added.n_new;
}

const std::string& Tokenizer::description() const noexcept { return impl_->description; }

const std::vector<std::filesystem::path>& Tokenizer::files() const noexcept { return impl_->files; }

}  // namespace gpt2
