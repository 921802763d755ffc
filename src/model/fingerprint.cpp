#include "model/fingerprint.h"

#include <string>

#include "base/hash.h"

namespace gpt2 {
namespace {

constexpr std::size_t kSamples = 16;
constexpr std::size_t kSampleBytes = 256;

// Adds a text to the hash, padded with zeros to whole words as Hash::add needs them.
void add_text(Hash& hash, std::string text) {
  text.resize((text.size() + 3) / 4 * 4);
  hash.add(std::as_bytes(std::span(text)));
}

void add(Hash& hash, const Tensor& tensor) { hash.add(std::as_bytes(tensor.values())); }

void add(Hash& hash, const Weight& weight) {
  add_text(hash, std::string(name_of(weight.type)));
  const std::uint64_t sizes[] = {weight.k, weight.n, static_cast<std::uint64_t>(weight.layout)};
  hash.add(std::as_bytes(std::span(sizes)));
  const Bytes bytes(weight.data, weight.bytes() / 4 * 4);
  if (bytes.size() <= kSamples * kSampleBytes) {
    hash.add(bytes);
    return;
  }
  const std::size_t step = (bytes.size() - kSampleBytes) / (kSamples - 1);
  for (std::size_t i = 0; i < kSamples; ++i) hash.add(bytes.subspan(i * step, kSampleBytes));
}

}  // namespace

std::uint64_t fingerprint(const Transformer& transformer) {
  // The ids that begin or end a text do not affect keys and values.
  Config config = transformer.config;
  config.bos_token_id.reset();
  config.eos_token_id.clear();

  Hash hash;
  add_text(hash, config.to_json());
  for_each_tensor(transformer,
                  [&](const auto& tensor, const std::string&, const Shape&) { add(hash, tensor); });
  return hash.value();
}

}  // namespace gpt2
