#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/added_tokens.h"
#include "text/models.h"

namespace gpt2 {

/// SentencePiece's table of normalization rules (precompiled_charsmap): a trie of strings, each of
/// which has a replacement. Immutable.
class Precompiled {
 public:
  /// The max bytes of a string with a rule and of a replacement, which bound the time for each
  /// place of a text. What is longer is cut off.
  static constexpr std::size_t kMaxBytes = 1024;

  /// Reads the table: the size of the trie in four bytes, the trie, and the replacements, which end
  /// in NUL. An empty table has no rules. Throws Error(invalid_file), whose message begins with
  /// `where`, if the trie is not there.
  explicit Precompiled(std::string_view table = {}, std::string_view where = {});

  struct Match {
    std::string_view replacement;
    std::size_t length = 0;  ///< of the string that is replaced; 0: there is none
  };

  /// Returns the longest rule for the beginning of `text`, as SentencePiece does, or the shortest.
  [[nodiscard]] Match match(std::string_view text, bool is_shortest = false) const noexcept;

  /// Appends to `out` what HuggingFace's tokenizers put in the place of the grapheme that begins at
  /// `at`, and returns its length: if it has fewer than six bytes, the replacement of the shortest
  /// rule for its beginning, or else that of each of its characters.
  /// REQUIRES: at < text.size().
  std::size_t rewrite(std::string_view text, std::size_t at, std::string& out) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

/// What SentencePiece makes of a text before it looks for pieces. The members have the names of its
/// files. Immutable.
struct SentencePieceNormalizer {
  Precompiled precompiled_charsmap = Precompiled();
  PieceTrie user_defined = {};              ///< these strings are not changed
  bool add_dummy_prefix = true;             ///< a space before the text
  bool treat_whitespace_as_suffix = false;  ///< this space follows the text
  bool remove_extra_whitespaces = true;     ///< at both ends, and each space that follows a space
  bool escape_whitespaces = true;           ///< a space becomes U+2581

  /// Writes the normalized text to `buffer`, and returns a view of it. Bytes that are not UTF-8
  /// become U+FFFD. Calls spend() for each byte. REQUIRES: `buffer` does not own the text.
  TextView normalize(const TextView& text, bool with_origins, TextBuffer& buffer,
                     std::size_t& left) const;
};

/// The content of a spiece.model.
struct SentencePieceFile {
  std::vector<Piece> pieces = {};  ///< their texts lie in the bytes of the file
  UnigramOptions options = {};
  SentencePieceNormalizer normalizer = {};
};

/// Reads the bytes of such a file, which is a protobuf (sentencepiece_model.proto). Throws Error,
/// whose message begins with `where`: invalid_file, or unsupported unless the model is of the type
/// Unigram or BPE.
[[nodiscard]] SentencePieceFile read_sentencepiece_file(std::string_view bytes,
                                                        std::string_view where);

/// One step of a normalizer. Appends to `out` what takes the place of the characters that begin at
/// `at`, which is below text.size(), and returns the number of their bytes, which is above 0.
using Rewrite = std::function<std::size_t(std::string_view text, std::size_t at, std::string& out)>;

using Rewrites = std::vector<Rewrite>;

/// Returns how many bytes all steps together may make of a text: 8 MiB, or 32 times its size, and
/// always less than 2 GiB. Without a bound, the steps of a hostile file could multiply a text until
/// memory is full.
[[nodiscard]] std::size_t rewrite_limit(std::size_t text_bytes);

/// Counts bytes that a step makes. `left` is the rest of rewrite_limit() for this text. Throws
/// Error(invalid_argument) if there are more.
void spend(std::size_t& left, std::size_t bytes);

/// Writes `prefix` and the rewritten text to `buffer`, and returns a view of it. Without a
/// `rewrite`, copies the text. Calls spend() for each byte. REQUIRES: `buffer` does not own the
/// text.
TextView rewrite_text(const TextView& text, std::string_view prefix, const Rewrite& rewrite,
                      bool with_origins, TextBuffer& buffer, std::size_t& left);

/// Returns a step that replaces every `pattern` with `content`. REQUIRES: the pattern is not empty.
[[nodiscard]] Rewrite replacing(std::string pattern, std::string content);

/// Returns the text after these steps, in one of the buffers. The text itself may be in neither.
TextView normalize(TextView text, std::span<const Rewrite> steps, bool with_origins,
                   std::array<TextBuffer, 2>& buffers, std::size_t& left);

/// A type of the steps of a tokenizer.json, but for Sequence. `add` reads such a step and adds it
/// to the steps before it. Throws Error: invalid_file, or unsupported.
template <class Steps>
struct StepKind {
  const char* type;
  void (*add)(const JsonFields& fields, Steps& steps);
};

[[nodiscard]] std::span<const StepKind<Rewrites>> normalizer_kinds();

/// The classes of characters that GPT-2's pre-tokenizer distinguishes.
enum class CharClass : std::uint8_t {
  letter,  ///< \p{L}: the general categories L*
  number,  ///< \p{N}: the general categories N*
  space,   ///< \s: the 25 code points of Unicode's White_Space
  other,
};

/// Returns the general category of a code point: two letters, such as "Lu".
[[nodiscard]] std::string_view category_of(char32_t code_point) noexcept;

/// Returns the class of a code point in the Unicode version that utf8proc implements.
[[nodiscard]] CharClass class_of(char32_t code_point) noexcept;

/// Returns whether \w in Rust's regular expressions matches a code point. HuggingFace's tokenizers
/// library finds whole words in this way. \w matches Unicode's Alphabetic, marks, decimal numbers,
/// connector punctuation and the two joiners (UTS #18, annex C).
[[nodiscard]] bool is_word_char(char32_t code_point) noexcept;

/// Returns the length in bytes of the longest prefix of `text` that has only characters of class
/// `kind`.
[[nodiscard]] std::size_t run_length(std::string_view text, CharClass kind) noexcept;

/// Returns the length in bytes of the first word of `text`, which is the part that GPT-2's pattern
/// matches at the beginning. Words cover the text without gaps, and BPE never merges across them.
/// REQUIRES: `text` is not empty.
///
/// A byte that is not part of valid UTF-8 counts as a character that is not a letter, number or
/// space. The calls for all words of a text together take linear time.
[[nodiscard]] std::size_t first_word_length(std::string_view text) noexcept;

struct FirstWord {
  std::size_t length;   ///< in bytes, above 0
  bool is_kept = true;  ///< if false, the word is white space that no token stands for
};

/// One step of a pre-tokenizer. Divides each text that the step before it yields into words.
struct WordSplit {
  FirstWord (*first_word)(std::string_view text);  ///< REQUIRES: `text` is not empty
  std::string prefix = {};         ///< put before a text that begins neither with it nor with ' '
  bool at_beginning_only = false;  ///< whether only the beginning of the whole text gets a prefix
  Rewrite rewrite = {};            ///< changes the text first, if not empty
  bool is_byte_level = false;      ///< whether the names of tokens spell bytes
};

using WordSplits = std::vector<WordSplit>;

[[nodiscard]] std::span<const StepKind<WordSplits>> pre_tokenizer_kinds();

/// Reads whether the prefix of a Metaspace, a pre-tokenizer or a decoder, stands before every text
/// ("always"), before the "first" one or "never". Throws Error(invalid_file).
[[nodiscard]] std::string read_prepend_scheme(const JsonFields& fields);

/// SentencePiece's mark of a space, U+2581.
inline constexpr std::string_view kMetaspace = "\xe2\x96\x81";

/// How the names of tokens become text, for a tokenizer that is not of byte level.
struct TokenDecoder {
  /// Changes the name of one token to its text. `is_first`: it is the first token of the text.
  using Step = std::function<void(std::string& token, bool is_first)>;

  std::vector<Step> steps = {};
  bool byte_fallback = false;     ///< whether "<0x41>" stands for a byte, before the steps
  bool is_fused = false;          ///< whether the tokens became one text
  bool is_byte_level = false;     ///< whether the names of tokens spell bytes
  bool is_sentencepiece = false;  ///< details differ from HuggingFace's tokenizers
  std::string end_of_word = {};   ///< becomes a space, but in the last token nothing
};

[[nodiscard]] TokenDecoder sentencepiece_decoder(const SentencePieceFile& file);

[[nodiscard]] std::span<const StepKind<TokenDecoder>> decoder_kinds();

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  AddedTokens added{vocabulary};
  // A text passes through these in turn.
  Rewrites normalizer;
  std::optional<SentencePieceNormalizer> sentencepiece;
  WordSplits pre_tokenizer;
  TokenModel model = [](auto, auto&, auto&) {};
  TokenDecoder decoder;  // unused at byte level

  bool is_byte_level = true;          // whether the names of tokens spell bytes
  std::vector<TokenId> prompt_start;  // special tokens before a text that is to be continued
  std::vector<TokenId> before;        // special tokens before and after a whole text
  std::vector<TokenId> after;
  std::optional<TokenId> bos, end_of_text;
  std::vector<SpecialToken> special_tokens;
  bool split_special_tokens = false;         // special tokens in a text are text
  std::string description;                   // while files are read, only the kind
  std::vector<std::filesystem::path> files;  // the files that were read, in this order
};

/// The content of a file; `where` is its path.
struct TextFile {
  std::string text;
  std::string where;
};

/// Changes the tree of a tokenizer.json, as the settings in tokenizer_config.json demand.
using JsonPatch = std::function<void(nlohmann::json& root)>;

/// Reads the files of one kind of tokenizer: a tokenizer.json, a spiece.model, a vocab.json and a
/// merges.txt, a vocab.txt of BERT, or a meta.pkl of nanoGPT. Throws Error: invalid_file, or
/// unsupported for another kind of tokenizer.
using TokenizerReader = void(std::span<const TextFile> files, const JsonPatch& patch,
                             Tokenizer::Impl& tokenizer);
TokenizerReader read_tokenizer_json, read_sentencepiece_model, read_vocabulary,
    read_bert_vocabulary;

/// Reads an AddedToken from the members that it has in files. Throws Error(invalid_file).
[[nodiscard]] AddedToken read_added_token(const JsonFields& fields);

/// Returns `value` as an id. Throws Error(invalid_file), whose message begins with `where` and
/// names `token`, unless it is a whole number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] TokenId read_token_id(const nlohmann::json& value, std::string_view token,
                                    std::string_view where);

}  // namespace gpt2
