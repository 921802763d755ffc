#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/normalizer.h"
#include "text/sentencepiece.h"

namespace gpt2 {

/// How the names of tokens become text, for a tokenizer that is not of byte level.
struct TokenDecoder {
  /// Changes the name of one token to its text. `is_first`: it is the first token of the text.
  using Step = std::function<void(std::string& token, bool is_first)>;

  std::vector<Step> steps = {};
  bool byte_fallback = false;     ///< whether "<0x41>" stands for a byte, before the steps
  bool is_byte_level = false;     ///< whether the names of tokens spell bytes
  std::size_t growth = 1;         ///< how many times as long the steps may make a token
  bool is_sentencepiece = false;  ///< details differ from HuggingFace's tokenizers
};

/// Returns the step of SentencePiece for a file.
[[nodiscard]] TokenDecoder sentencepiece_decoder(const SentencePieceFile& file);

/// Returns the step of BERT: a space before each token that begins a word, but the first. With
/// `cleanup`, there is none before a punctuation mark such as ".".
[[nodiscard]] TokenDecoder::Step wordpiece_decoding(std::string prefix, bool cleanup);

/// The types of the steps of a decoder.
[[nodiscard]] std::span<const StepKind<TokenDecoder>> decoder_kinds();

}  // namespace gpt2
