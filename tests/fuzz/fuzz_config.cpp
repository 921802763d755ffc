#include "fuzz.h"
#include "gpt2/config.h"
#include "gpt2/generation_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gpt2::fuzz::expect_answer([&] {
    const gpt2::Config config = gpt2::Config::parse(text, "file");
    if (config.head_dim() == 0 || config.inner_dim() == 0) __builtin_trap();
    if (config.head_dim() * config.n_head != config.n_embd) __builtin_trap();
    for (const gpt2::TokenId id : config.eos_token_id) {
      if (id < 0 || static_cast<std::size_t>(id) >= config.vocab_size) __builtin_trap();
    }
  });
  gpt2::fuzz::expect_answer([&] {
    const auto config = gpt2::GenerationConfig::parse(text, "file");
    const gpt2::SamplingOptions& options = config.sampling;
    if (!(options.temperature >= 0.0f && options.top_p >= 0.0f && options.top_p <= 1.0f &&
          options.repetition_penalty > 0.0f && options.typical_p > 0.0f)) {
      __builtin_trap();
    }
  });
  return 0;
}
