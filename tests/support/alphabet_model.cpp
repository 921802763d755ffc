#include "support/alphabet_model.h"

#include <nlohmann/json.hpp>

#include "support/safetensors_writer.h"

namespace gpt2::test {
namespace {

constexpr std::size_t kEmbd = 64;
constexpr std::size_t kVocab = 257;
constexpr std::size_t kEndOfText = 256;

std::size_t successor(std::size_t token) {
  if (token >= 'a' && token < 'z') return token + 1;
  switch (token) {
    case 'z': return ' ';
    case ' ': return 0xc3;
    case 0xc3: return 0xa9;
    case '0': return kEndOfText;
    default: return 'a';
  }
}

// Returns a direction of plus and minus ones for each token, drawn by a linear congruential
// generator. Any two of them are nearly at right angles.
std::vector<float> directions() {
  std::vector<float> values(kVocab * kEmbd);
  std::uint64_t state = 1;
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = (state >> 63) != 0 ? 1.0f : -1.0f;
  }
  return values;
}

// Every token is embedded as the direction of its successor. Attention and the feed-forward layer
// add nothing to this, so the logits are the inner products of that direction with the directions
// of all tokens.
std::vector<float> successors(const std::vector<float>& direction) {
  std::vector<float> values;
  for (std::size_t token = 0; token < kVocab; ++token) {
    const float* const row = direction.data() + successor(token) * kEmbd;
    values.insert(values.end(), row, row + kEmbd);
  }
  return values;
}

}  // namespace

std::string printable_byte(unsigned byte) {
  const auto is_stand_in = [](unsigned b) { return b < 33 || (b > 126 && b < 161) || b == 173; };
  unsigned code_point = byte;
  if (is_stand_in(byte)) {
    code_point = 256;
    for (unsigned b = 0; b < byte; ++b) code_point += is_stand_in(b) ? 1 : 0;
  }
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))};
}

void write_alphabet_model(const std::filesystem::path& directory, std::size_t n_positions) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json") << nlohmann::json{{"model_type", "gpt2"},
                                                             {"vocab_size", kVocab},
                                                             {"n_positions", n_positions},
                                                             {"n_embd", kEmbd},
                                                             {"n_layer", 1},
                                                             {"n_head", 1},
                                                             {"n_inner", kEmbd},
                                                             {"tie_word_embeddings", false},
                                                             {"bos_token_id", kEndOfText},
                                                             {"eos_token_id", kEndOfText}};

  nlohmann::json vocabulary = {{"<|endoftext|>", kEndOfText}};
  for (unsigned byte = 0; byte < 256; ++byte) vocabulary[printable_byte(byte)] = byte;
  std::ofstream(directory / "vocab.json") << vocabulary;
  std::ofstream(directory / "merges.txt") << "#version: 0.2\n";

  const std::vector<float> direction = directions();
  SafetensorsWriter weights;
  weights.add("wte.weight", {kVocab, kEmbd}, successors(direction));
  weights.add("lm_head.weight", {kVocab, kEmbd}, direction);
  weights.constant("wpe.weight", {n_positions, kEmbd}, 0.0f);
  for (const std::string norm : {"h.0.ln_1", "h.0.ln_2", "ln_f"}) {
    weights.constant(norm + ".weight", {kEmbd}, 1.0f);
    weights.constant(norm + ".bias", {kEmbd}, 0.0f);
  }
  weights.constant("h.0.attn.c_attn.weight", {kEmbd, 3 * kEmbd}, 0.0f);
  weights.constant("h.0.attn.c_attn.bias", {3 * kEmbd}, 0.0f);
  for (const std::string linear : {"h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.mlp.c_proj"}) {
    weights.constant(linear + ".weight", {kEmbd, kEmbd}, 0.0f);
    weights.constant(linear + ".bias", {kEmbd}, 0.0f);
  }
  weights.write(directory / "model.safetensors");
}

std::string alphabet_model() {
  static const AlphabetModel model(1024);
  return model.name();
}

void AlphabetModel::remove_token(const std::string& token) const {
  nlohmann::json vocabulary = nlohmann::json::parse(read_bytes(path() / "vocab.json"));
  vocabulary.erase(token);
  write("vocab.json", vocabulary.dump());
}

}  // namespace gpt2::test
