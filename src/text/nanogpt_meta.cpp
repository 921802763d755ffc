#include "base/fail.h"
#include "formats/pickle.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {

// meta.pkl is a pickled dict, whose member itos has the character of each id. The tokenizer is a
// BPE of characters without merges.
void read_nanogpt_meta(std::span<const TextFile> files, const JsonPatch& patch,
                       Tokenizer::Impl& tokenizer) {
  const auto& [text, where] = files.front();
  const Pickle pickle(std::as_bytes(std::span(text)), 0, where);
  const Pickle::Value* const itos = pickle.root->find("itos");
  if (itos == nullptr || itos->kind != Pickle::Kind::dict) {
    fail(where, "no dict 'itos'; expected nanoGPT's characters by their ids");
  }
  JsonDocument<nlohmann::json> root;
  nlohmann::json& model = root.root["model"];
  model["type"] = "BPE";
  model["vocab"] = nlohmann::json::object();
  model["merges"] = nlohmann::json::array();
  root.root["decoder"]["type"] = "Fuse";
  for (std::size_t i = 0; i + 1 < itos->items.size(); i += 2) {
    const Pickle::Value &id = *itos->items[i], &character = *itos->items[i + 1];
    if (id.kind != Pickle::Kind::integer || character.kind != Pickle::Kind::text) {
      fail(where, "itos has ", describe(id), " and ", describe(character),
           "; expected an int and a string");
    }
    model["vocab"][std::string(character.text)] = id.integer;
  }
  const std::string json = root.root.dump();
  read_tokenizer_json(std::array{TextFile{json, where}}, patch, tokenizer);
  tokenizer.description = "characters of nanoGPT";
}

}  // namespace gpt2
