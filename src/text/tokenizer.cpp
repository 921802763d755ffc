#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const AddedToken& token, const Parts&... parts) {
  fail(token.where, "the added token ", quote(token.content), " ", parts...);
}

// Sets the token's id, and adds the token to the vocabulary if it is new. HuggingFace's tokenizers
// library numbers new tokens itself, and only warns if the file has another number. This function
// uses the number in the file, because the model was trained with it.
void resolve_id(AddedToken& token, Vocabulary& vocabulary) {
  if (token.content.size() > PieceTrie::kMaxPieceBytes) {
    refuse(token, "has ", token.content.size(), " bytes; expected at most ",
           PieceTrie::kMaxPieceBytes);
  }
  if (const auto known = vocabulary.find(token.content)) {
    if (token.id >= 0 && token.id != *known) {
      refuse(token, "has the id ", token.id, ", but already has the id ", *known);
    }
    token.id = *known;
    return;
  }
  if (token.id < 0) token.id = static_cast<TokenId>(vocabulary.size());
  if (token.id >= Vocabulary::kMaxTokens) {
    refuse(token, "would have the id ", token.id, "; expected at most ",
           Vocabulary::kMaxTokens - 1);
  }
  if (!vocabulary.insert(token.content, token.id, Vocabulary::Kind::literal)) {
    refuse(token, "has the id of ", quote(vocabulary.bytes(token.id)), ", ", token.id,
           "; expected one of its own");
  }
}

std::string_view without_space_at_end(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char last = last_utf8(text);
    if (class_of(last.code_point) != CharClass::space) break;
    text.remove_suffix(last.length);
  }
  return text;
}

// Returns whether no word character is next to the match. An invalid byte is decoded as code point
// 0, which is not a word character.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_char(last_utf8(text.substr(0, begin)).code_point)) &&
         (end == text.size() || !is_word_char(decode_utf8(text.substr(end)).code_point));
}

// Encodes one text.
struct Encoder {
  const Tokenizer::Impl& impl;
  const bool with_ranges;
  const bool parse_special;
  TokenSink out = {with_ranges};
  std::array<TextBuffer, 2> buffers = {};
  Symbols symbols = {};

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
    const TextView changed = normalize(text, impl.normalizer, with_ranges, buffers);
    if (!impl.sentencepiece) return changed;
    TextBuffer& free_buffer = buffers[impl.normalizer.size() % 2];
    return impl.sentencepiece->normalize(changed, with_ranges, free_buffer);
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
      rest = rewrite_text(text, prefix, split.rewrite, with_ranges, changed);
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

TokenId AddedTokens::declare(AddedToken token, bool replaces) {
  if (token.content.empty()) return -1;
  const std::size_t n_known = vocabulary.count();
  resolve_id(token, vocabulary);
  n_new += vocabulary.count() - n_known;
  AddedToken& known = tokens.try_emplace(token.id, token).first->second;
  token.special |= known.special;
  if (replaces) known = token;
  known.special = token.special;
  return known.id;
}

void AddedTokens::prepare(std::span<const Rewrite> normalizer) {
  for (const bool is_normalized : {false, true}) {
    std::deque<std::string> forms;
    std::vector<PieceTrie::Entry> entries;
    std::array<TextBuffer, 2> buffers;
    // Of tokens of the same form, the first one counts here, and the last one in the trie.
    for (auto at = tokens.rbegin(); at != tokens.rend(); ++at) {
      const auto& [id, token] = *at;
      if (token.normalized != is_normalized) continue;
      const auto steps = normalizer.first(is_normalized ? normalizer.size() : 0);
      const auto& form = forms.emplace_back(
          normalize({token.content}, steps, /*with_origins=*/false, buffers).text);
      const bool is_matched = !form.empty() && form.size() <= PieceTrie::kMaxPieceBytes;
      if (is_matched) entries.emplace_back(form, id);
    }
    passes[is_normalized] = PieceTrie(std::move(entries));
  }
}

// This follows AddedVocabulary::find_matches step by step, so that unusual combinations give the
// same result (for example, a token of white space next to one that strips white space). Unlike
// that function, it takes linear time.
std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text, std::size_t pass,
                                                   bool parse_special) const {
  std::vector<Piece> pieces;
  std::size_t done = 0;         // the text before this is in `pieces`
  std::size_t space_until = 0;  // the end of the white space that the last rstrip removed
  std::size_t at = passes[pass].is_empty() ? text.size() : 0;
  while (at < text.size()) {
    const auto [length, id] = passes[pass].longest_prefix(text.substr(at));
    std::size_t begin = at;
    at += std::max(length, 1u);
    if (length == 0) continue;
    std::size_t end = at;
    const AddedToken& token = tokens.find(id)->second;
    if (token.special && !parse_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip && begin > done) {
      begin = done + without_space_at_end(text.substr(done, begin - done)).size();
    }
    if (token.rstrip) {
      end = std::max(end, space_until);
      end += run_length(text.substr(end), CharClass::space);
      space_until = end;
    }
    if (done < begin) pieces.push_back({text.substr(done, begin - done), nullptr});
    pieces.push_back({text.substr(begin, end - begin), &token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), nullptr});
  return pieces;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options,
                                       std::size_t* lost_bytes,
                                       std::vector<TextRange>* ranges) const {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() >= kMaxBytes) {
    reject("a text of ", text.size(),
           " bytes is too long to encode at once; expected less than 2 GiB");
  }
  Encoder encoder{*impl_, ranges != nullptr, options.parse_special};
  TokenSink& out = encoder.out;
  const auto add_special = [&](const std::vector<TokenId>& tokens) {
    if (!options.add_special_tokens) return;
    out.ids.insert(out.ids.end(), tokens.begin(), tokens.end());
    out.ranges.resize(ranges != nullptr ? out.ids.size() : 0);
  };
  add_special(options.post_process ? impl_->before : impl_->prompt_start);
  TextView whole{text};
  TextBuffer spaced;
  if (impl_->has_space_before) whole = rewrite_text(whole, " ", {}, ranges != nullptr, spaced);
  encoder.encode(whole, 0);
  // Only ranges tell which bytes of the text itself have no token.
  if (std::vector<TextRange> unused; lost_bytes != nullptr && out.lost_bytes > 0 && !ranges) {
    return encode(text, options, lost_bytes, &unused);
  }
  // T5Tokenizer adds no second </s>.
  const bool is_there = impl_->sentencepiece && !out.ids.empty() && !impl_->after.empty() &&
                        out.ids.back() == impl_->after.back();
  if (options.post_process && !is_there) add_special(impl_->after);
  if (lost_bytes != nullptr) *lost_bytes = out.lost_bytes;
  if (ranges != nullptr) *ranges = std::move(out.ranges);
  return std::move(out.ids);
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

std::optional<TokenId> Tokenizer::end_of_text() const noexcept { return impl_->end_of_text; }

std::size_t Tokenizer::size() const noexcept { return impl_->vocabulary.size(); }

std::size_t Tokenizer::vocab_size() const noexcept {
  return impl_->vocabulary.count() - impl_->added.n_new;
}

const std::string& Tokenizer::description() const noexcept { return impl_->description; }

const std::vector<std::filesystem::path>& Tokenizer::files() const noexcept { return impl_->files; }

}  // namespace gpt2
