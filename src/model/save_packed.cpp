#include "model/save_packed.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpt2/error.h"
#include "model/config_json.h"
#include "model/transformer.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  std::string dtype;
  Shape shape;
  const void* data;
  std::size_t bytes;
};

class Entries {
 public:
  void add(const std::string& name, const Weight& weight) {
    const bool packed = weight.is_packed();
    const char* const dtype = packed                               ? "U8"
                              : weight.format == WeightFormat::f32 ? "F32"
                              : weight.format == WeightFormat::f16 ? "F16"
                                                                   : "BF16";
    all.push_back({name + ".weight", dtype,
                   packed ? weight.packed_shape() : Shape{weight.n, weight.k}, weight.data,
                   weight.bytes()});
  }

  void add(const std::string& name, std::span<const float> values) {
    if (values.empty()) return;
    all.push_back({name, "F32", Shape{values.size()}, values.data(), values.size_bytes()});
  }

  void add(const std::string& name, const LayerNorm& norm) {
    add(name + ".weight", norm.weight.values());
    add(name + ".bias", norm.bias.values());
  }

  void add(const std::string& name, const Linear& linear) {
    add(name, linear.weight);
    add(name + ".bias", linear.bias);
  }

  std::vector<Entry> all;
};

std::vector<Entry> entries_of(const Transformer& transformer) {
  Entries entries;
  entries.add("wte", transformer.embedding.wte);
  entries.add("wpe", transformer.embedding.wpe);
  for (std::size_t layer = 0; layer < transformer.blocks.size(); ++layer) {
    const Block& block = transformer.blocks[layer];
    const std::string h = "h." + std::to_string(layer) + ".";
    entries.add(h + "ln_1", block.ln_1);
    entries.add(h + "attn.c_attn", block.attn.c_attn);
    entries.add(h + "attn.c_proj", block.attn.c_proj);
    entries.add(h + "ln_2", block.ln_2);
    entries.add(h + "mlp.c_fc", block.mlp.c_fc);
    entries.add(h + "mlp.c_proj", block.mlp.c_proj);
  }
  entries.add("ln_f", transformer.ln_f);
  if (!transformer.config.tie_word_embeddings) entries.add("lm_head", transformer.lm_head);
  return std::move(entries.all);
}

void write_safetensors(const fs::path& file, const std::vector<Entry>& entries,
                       const std::function<void()>& before_each) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::size_t offset = 0;
  for (const Entry& entry : entries) {
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape.sizes()},
                          {"data_offsets", {offset, offset + entry.bytes}}};
    offset += entry.bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream out(file, std::ios::binary);
  const std::uint64_t length = text.size();
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i)));
  out << text;
  for (const Entry& entry : entries) {
    before_each();
    out.write(static_cast<const char*>(entry.data), static_cast<std::streamsize>(entry.bytes));
  }
  out.close();
  if (!out)
    throw Error(ErrorCode::invalid_file, file.string() + ": cannot be written: is the disk full?");
}

void write_config(const fs::path& to, const Config& config, const char* dtype) {
  nlohmann::ordered_json json = to_json(config);
  json["model_type"] = "gpt2";
  json["gpt2_cpp"] = {{"dtype", dtype}};
  std::ofstream out(to);
  out << json.dump(2) << '\n';
  out.close();
  if (!out)
    throw Error(ErrorCode::invalid_file, to.string() + ": cannot be written: is the disk full?");
}

}  // namespace

void save_packed(const Model& model, const fs::path& source, const fs::path& out,
                 const std::function<void()>& before_each) {
  // As typed, OUT may end in a slash.
  const fs::path directory = out.has_filename() ? out : out.parent_path();
  const WeightFormat format = model.transformer()->lm_head.format;
  if (!model.transformer()->lm_head.is_packed()) {
    throw Error(ErrorCode::invalid_argument,
                "only int8 and int4 weights are saved: choose one of them");
  }
  if (fs::exists(directory)) {
    throw Error(ErrorCode::invalid_argument,
                directory.string() + ": exists already; choose another name");
  }
  fs::path partial = directory;
  partial += ".partial-" + std::to_string(::getpid());
  try {
    fs::create_directories(partial);
    write_safetensors(partial / "model.safetensors", entries_of(*model.transformer()), before_each);
    write_config(partial / "config.json", model.config(),
                 format == WeightFormat::int8 ? "int8" : "int4");
    // What a tokenizer is read from, and how to generate; older configs say that themselves.
    for (const char* name :
         {"tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json",
          "tokenizer_config.json", "special_tokens_map.json", "aitextgen-vocab.json",
          "aitextgen-merges.txt", "aitextgen.tokenizer.json", "generation_config.json"}) {
      if (fs::is_regular_file(source / name)) fs::copy_file(source / name, partial / name);
    }
    if (fs::is_regular_file(source / "config.json")) {
      fs::copy_file(source / "config.json", partial / "generation_config.json",
                    fs::copy_options::skip_existing);
    }
    fs::rename(partial, directory);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw Error(ErrorCode::invalid_file, std::string("cannot write the model: ") + error.what());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
}

}  // namespace gpt2
