#pragma once

#include <filesystem>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::test::bundled {

/// The bundled model and its tokenizer, loaded once for each test program.
inline const std::filesystem::path kDirectory =
    std::filesystem::path(GPT2_MODELS_DIR) / "gpt2-stories";

inline const Model& model() {
  static const Model loaded = Model::load(kDirectory);
  return loaded;
}

inline const Tokenizer& tokenizer() {
  static const Tokenizer loaded = Tokenizer::load(kDirectory);
  return loaded;
}

}  // namespace gpt2::test::bundled
