#pragma once

#include <string_view>
#include <vector>

#include "text/precompiled.h"
#include "text/unigram.h"

namespace gpt2 {

/// What a spiece.model, the file of a SentencePiece model, has.
struct SentencePieceFile {
  std::vector<Piece> pieces = {};  ///< their texts lie in the bytes of the file
  Unigram::Options options = {};
  TokenId eos_id = 2;  ///< -1: none
  SentencePieceNormalizer normalizer = {};
};

/// Reads the bytes of such a file, which is a protobuf (sentencepiece_model.proto). Throws Error,
/// whose message begins with `where`: invalid_file, or unsupported unless the model is of the type
/// Unigram or BPE.
[[nodiscard]] SentencePieceFile read_sentencepiece_file(std::string_view bytes,
                                                        std::string_view where);

}  // namespace gpt2
